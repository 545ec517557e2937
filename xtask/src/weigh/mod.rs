//! `cargo xtask weigh [--runs N] [--accept]`: what it costs to depend on us, beside the official Rust
//! SDK, and how large our programs are, against the budget.
//!
//! Both are weighed by a hello world in `tests/peers-check`, each a workspace of its own with the
//! versions of all it needs in its lock.

mod crates;
mod seconds;
mod sizes;

use crate::budget::check_sizes;
use crate::process::{cargo, run as run_to_end, target};

pub(crate) use crates::{listed, within_limits};

/// A library, by the folder of its hello world.
#[derive(Clone, Copy)]
struct Peer(&'static str);

const OURS: Peer = Peer("turnbuckle");
const THEIRS: Peer = Peer("rmcp");

impl Peer {
    fn manifest(self) -> String {
        format!("tests/peers-check/{}/Cargo.toml", self.0)
    }

    /// A cargo command on the hello world, with exactly the versions of its lock.
    fn cargo(self, command: &str) -> std::process::Command {
        let manifest = self.manifest();
        cargo([command, "--locked", "--manifest-path", &manifest])
    }
}

/// `cargo xtask weigh`: the crates, the CPU seconds; fails where we are the heavier. With `--sizes`
/// also what the programs weigh, whose builds take minutes.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let Options {
        runs,
        sizes,
        accept,
    } = parse(arguments)?;
    within_limits()?;
    for peer in [OURS, THEIRS] {
        run_to_end(peer.cargo("fetch").arg("--quiet"))?;
    }
    let counts = [crates::of_hello(OURS)?, crates::of_hello(THEIRS)?];
    let seconds = seconds::compare(runs)?;
    println!("hello world  crates  CPU seconds of a cold `cargo check`");
    for (index, peer) in [OURS, THEIRS].into_iter().enumerate() {
        let all: Vec<_> = seconds[index].iter().map(|s| format!("{s:.1}")).collect();
        println!("{:<12} {:>6}  {}", peer.0, counts[index], all.join("  "));
    }
    // What disturbs a run only ever adds to it.
    let [ours, theirs] = seconds.map(|all| all.into_iter().fold(f64::INFINITY, f64::min));
    if ours >= theirs {
        return Err(format!("{ours:.1} s are not below {theirs:.1} s"));
    }
    shown_code()?;
    if !sizes {
        return Ok(());
    }
    let sizes = sizes::stripped()?;
    for (name, bytes) in sizes {
        println!("{name:<12} {:.2} MB", bytes as f64 / 1e6);
    }
    check_sizes(&sizes, accept)
}

/// What the guide shows of their API compiles.
pub(crate) fn shown_code() -> Result<(), String> {
    let mut check = THEIRS.cargo("check");
    check.args(["--examples", "--quiet", "--target-dir"]);
    run_to_end(check.arg(target().join("weigh/examples")))
}

#[derive(Debug, PartialEq)]
struct Options {
    /// How often each first build is timed.
    runs: usize,
    /// Whether the programs are built and weighed.
    sizes: bool,
    /// Whether their sizes become the budget's.
    accept: bool,
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        runs: 1,
        sizes: false,
        accept: false,
    };
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let number = || words.next()?.parse().ok().filter(|runs| *runs > 0);
        match word {
            "--sizes" => options.sizes = true,
            "--accept" => (options.sizes, options.accept) = (true, true),
            "--runs" => options.runs = { number }().ok_or("--runs takes a number above 0")?,
            _ => return Err("the options are --runs N, --sizes and --accept".to_owned()),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_one_unless_told() {
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            parse(&words)
        };
        let options = |runs, sizes, accept| {
            Ok(Options {
                runs,
                sizes,
                accept,
            })
        };
        assert_eq!(parse(&[]), options(1, false, false));
        assert_eq!(parse(&["--runs", "3"]), options(3, false, false));
        assert_eq!(parse(&["--sizes"]), options(1, true, false));
        assert_eq!(parse(&["--accept", "--runs", "2"]), options(2, true, true));
        for wrong in [&["3"][..], &["--runs"], &["--runs", "0"], &["--runs", "x"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn both_hello_worlds_stand_with_their_locks() {
        for peer in [OURS, THEIRS] {
            let manifest = crate::process::root().join(peer.manifest());
            assert!(manifest.is_file(), "{}", manifest.display());
            assert!(manifest.with_file_name("Cargo.lock").is_file());
        }
    }
}
