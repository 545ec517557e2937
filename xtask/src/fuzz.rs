//! `cargo xtask fuzz`: runs the fuzz targets for a while each, or measures which lines their inputs
//! reach.
//!
//! The targets are in `fuzz`, a workspace of its own, and their assertions in `tests/it/src/fuzz`. The
//! fuzzer begins with the inputs in `fuzz/corpus`, which are few, chosen by hand, and replayed by the
//! ordinary tests; the inputs that it finds stay in the target folder from run to run.
//!
//! No sanitizer is used: they need a nightly compiler, and there is no unsafe code here for them to
//! watch. Debug assertions and overflow checks are on.

mod coverage;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tree::Tree;

use crate::process::{self, cargo, output, root, target};

/// The limits beyond which an input is a finding: its time in seconds, the memory of the fuzzer in
/// MiB. An input has at most 4,096 bytes.
const LIMITS: [&str; 3] = ["-max_len=4096", "-timeout=5", "-rss_limit_mb=1024"];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The targets; all unless named
    targets: Vec<String>,
    /// The time that each target runs
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "coverage")]
    seconds: u64,
    /// Measure which lines the inputs reach, and search for nothing
    #[arg(long)]
    coverage: bool,
}

/// Runs targets, and stops at the first finding, which libFuzzer prints and keeps.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let chosen = choose(targets()?, &options.targets)?;
    if options.coverage {
        return coverage::run(&chosen);
    }
    output(&mut cargo(["fuzz", "--version"])).map_err(|error| {
        format!("{error}\ncargo-fuzz is missing? It needs a C++ compiler and `cargo install cargo-fuzz --locked`")
    })?;
    for name in &chosen {
        println!("== {name}: {} s", options.seconds);
        let found = found_corpus(name);
        fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
        let time = format!("-max_total_time={}", options.seconds);
        process::run(command(name, &found).arg(time).args(LIMITS))?;
    }
    Ok(())
}

/// Returns the names of the targets, in order.
fn targets() -> Result<Vec<String>, String> {
    let tree = Tree::read(&root().join("fuzz/fuzz_targets"))?;
    let names = tree
        .texts(".rs")
        .map(|(path, _)| path.trim_end_matches(".rs").to_owned());
    Ok(names.collect())
}

/// Returns those of `all` that are wanted; all if none is named.
fn choose(all: Vec<String>, wanted: &[String]) -> Result<Vec<String>, String> {
    if let Some(unknown) = wanted.iter().find(|name| !all.contains(name)) {
        return Err(format!("no target {unknown}; there are {}", all.join(", ")));
    }
    let mut chosen = all;
    chosen.retain(|name| wanted.is_empty() || wanted.contains(name));
    Ok(chosen)
}

/// Returns the folder in which the fuzzer keeps the inputs that it finds.
fn found_corpus(name: &str) -> PathBuf {
    target().join("fuzz-corpus").join(name)
}

/// Returns the command that runs a target. New inputs go to the first folder, `found`.
fn command(name: &str, found: &Path) -> Command {
    let mut command = cargo(["fuzz", "run", "--sanitizer", "none", "--target-dir"]);
    command
        .arg(target().join("fuzz"))
        .arg(name)
        .arg(found)
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
    fn an_unknown_target_is_refused_with_the_names_of_those_there_are() {
        let all = || strings(&["lines", "rpc"]);
        assert_eq!(choose(all(), &[]), Ok(all()));
        assert_eq!(choose(all(), &strings(&["rpc"])), Ok(strings(&["rpc"])));
        let error = choose(all(), &strings(&["line"])).unwrap_err();
        assert!(error.contains("line") && error.contains("rpc"), "{error}");
    }

    #[test]
    fn the_kept_inputs_are_read_and_the_found_ones_written() {
        let command = command("rpc", Path::new("found"));
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        let at = arguments.iter().position(|a| a == "found").unwrap();
        assert_eq!(arguments[at - 1], "rpc");
        assert!(Path::new(&*arguments[at + 1]).ends_with("fuzz/corpus/rpc"));
    }
}
