//! `cargo xtask fuzz [TARGET…] [--seconds N]`: every target, or those named, for a while each.
//! With `--coverage` nothing is sought: what there is to find with is measured (see `coverage`).
//!
//! The targets are in `fuzz`, a workspace of its own; what they hold true is in `tests/it/src/fuzz`.
//! What the fuzzer learns stays in the target folder from run to run. The inputs in `fuzz/corpus`
//! are where it begins; they are kept by hand, small, and replayed by the ordinary tests.
//!
//! No sanitizer is used: they need a nightly compiler, and there is no unsafe code here for them to
//! watch. Debug assertions and overflow checks are on.

mod coverage;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{cargo, root, run as run_to_end, target};

/// For how long each target runs unless told otherwise, in seconds.
const SECONDS: u64 = 60;

/// How long an input is, in bytes; what one may take, in seconds, and the whole fuzzer, in MiB:
/// more of these is a find.
const LIMITS: [&str; 3] = ["-max_len=4096", "-timeout=5", "-rss_limit_mb=1024"];

/// `cargo xtask fuzz`: stops at the first find, which libFuzzer prints and keeps.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (wanted, task) = parse(arguments)?;
    let chosen = choose(targets(&root().join("fuzz/fuzz_targets"))?, &wanted)?;
    let Task::Run { seconds } = task else {
        return coverage::run(&chosen);
    };
    installed()?;
    for name in &chosen {
        println!("== {name}: {seconds} s");
        fuzz(name, seconds)?;
    }
    Ok(())
}

/// What is done with a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    /// It runs for so long.
    Run { seconds: u64 },
    /// It is looked at what its inputs reach.
    Coverage,
}

/// The targets that were named, and what is done with each.
fn parse(arguments: &[String]) -> Result<(Vec<&str>, Task), String> {
    let mut wanted = Vec::new();
    let mut task = Task::Run { seconds: SECONDS };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--seconds" {
            let number = arguments.next().and_then(|number| number.parse().ok());
            // libFuzzer takes 0 for no end.
            let seconds = number
                .filter(|number| *number > 0)
                .ok_or("--seconds needs a whole number above 0")?;
            task = Task::Run { seconds };
        } else if argument == "--coverage" {
            task = Task::Coverage;
        } else if argument.starts_with('-') {
            return Err(format!(
                "no option {argument}; there are --seconds N and --coverage"
            ));
        } else {
            wanted.push(argument.as_str());
        }
    }
    Ok((wanted, task))
}

/// The names of the targets, in order.
fn targets(folder: &Path) -> Result<Vec<String>, String> {
    let unreadable = |error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let name = name.to_string_lossy();
        names.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Those of `all` that are wanted; all if none is named.
fn choose(all: Vec<String>, wanted: &[&str]) -> Result<Vec<String>, String> {
    if let Some(unknown) = wanted.iter().find(|name| !all.iter().any(|n| n == **name)) {
        return Err(format!("no target {unknown}; there are {}", all.join(", ")));
    }
    let mut chosen = all;
    chosen.retain(|name| wanted.is_empty() || wanted.contains(&name.as_str()));
    Ok(chosen)
}

fn installed() -> Result<(), String> {
    let mut version = cargo(["fuzz", "--version"]);
    let version = version.stdout(Stdio::null()).stderr(Stdio::null());
    if version.status().is_ok_and(|status| status.success()) {
        return Ok(());
    }
    Err("cargo-fuzz is missing; it takes a C++ compiler and\n\n    \
         cargo install cargo-fuzz --locked\n"
        .to_owned())
}

/// Where the fuzzer keeps what it learns of a target.
fn learned(name: &str) -> PathBuf {
    target().join("fuzz-corpus").join(name)
}

fn fuzz(name: &str, seconds: u64) -> Result<(), String> {
    let learned = learned(name);
    fs::create_dir_all(&learned).map_err(|error| format!("{}: {error}", learned.display()))?;
    run_to_end(
        command(name, &learned)
            .arg(format!("-max_total_time={seconds}"))
            .args(LIMITS),
    )
}

/// cargo-fuzz on one target. New inputs go to the first folder, `learned`.
fn command(name: &str, learned: &Path) -> Command {
    let mut command = cargo(["fuzz", "run", "--sanitizer", "none", "--target-dir"]);
    command
        .arg(target().join("fuzz"))
        .arg(name)
        .arg(learned)
        .arg(root().join("fuzz/corpus").join(name))
        .arg("--");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn targets_and_seconds_come_in_any_order() {
        assert_eq!(parse(&[]), Ok((vec![], Task::Run { seconds: SECONDS })));
        let words = strings(&["rpc", "--seconds", "5", "lines"]);
        let five = Task::Run { seconds: 5 };
        assert_eq!(parse(&words), Ok((vec!["rpc", "lines"], five)));
        let words = strings(&["--coverage", "rpc"]);
        assert_eq!(parse(&words), Ok((vec!["rpc"], Task::Coverage)));
        for wrong in [
            &["--seconds"][..],
            &["--seconds", "0"],
            &["--seconds", "x"],
            &["-s", "5"],
        ] {
            assert!(parse(&strings(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_target_that_is_not_there_is_told_with_those_that_are() {
        let all = || strings(&["lines", "rpc"]);
        assert_eq!(choose(all(), &[]), Ok(all()));
        assert_eq!(choose(all(), &["rpc"]), Ok(strings(&["rpc"])));
        let error = choose(all(), &["line"]).unwrap_err();
        assert!(error.contains("line") && error.contains("rpc"), "{error}");
    }

    #[test]
    fn every_target_is_found() {
        let found = targets(&root().join("fuzz/fuzz_targets")).unwrap();
        assert!(found.contains(&"lines".to_owned()), "{found:?}");
    }

    #[test]
    fn the_kept_inputs_are_read_and_the_learned_ones_written() {
        let command = command("rpc", Path::new("learned"));
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        let at = arguments.iter().position(|a| a == "learned").unwrap();
        assert_eq!(arguments[at - 1], "rpc");
        assert!(Path::new(&*arguments[at + 1]).ends_with("fuzz/corpus/rpc"));
    }
}
