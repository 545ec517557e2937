//! `cargo xtask weigh [--runs N] [--accept]`: what it costs to depend on us, beside the official Rust
//! SDK, and how large our programs are, against the budget.
//!
//! Both are weighed by a hello world in `tests/peers-check`, each a workspace of its own with the
//! versions of all it needs in its lock.

mod crates;
mod peer;
mod seconds;
mod sizes;

use crate::budget::check_sizes;
use crate::process::{run as run_to_end, target};
use crate::result::Result;

pub(crate) use crates::within_limits;
use peer::{OURS, THEIRS};

/// The parts that are weighed.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Runs of each build
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Build the programs, which takes minutes, and compare their sizes with the budget
    #[arg(long)]
    sizes: bool,
    /// Make the sizes the budget
    #[arg(long)]
    accept: bool,
    /// Only count crates, which takes a second
    #[arg(long)]
    crates: bool,
}

/// Weighs; fails where our hello world is the heavier one, or has more crates than it may.
pub(crate) fn run(options: &Options) -> Result {
    if options.crates {
        return Ok(within_limits()?);
    }
    let runs = options.runs as usize;
    let (sizes, accept) = (options.sizes || options.accept, options.accept);
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
        return Err(format!("{ours:.1} s are not below {theirs:.1} s").into());
    }
    shown_code()?;
    if !sizes {
        return Ok(());
    }
    let sizes = sizes::stripped_sizes()?;
    for (name, bytes) in sizes {
        println!("{name:<12} {:.2} MB", bytes as f64 / 1e6);
    }
    check_sizes(&sizes, accept)
}

/// Checks that the code that the guide shows of their API compiles.
pub(crate) fn shown_code() -> Result<(), String> {
    let mut check = THEIRS.cargo("check");
    check.args(["--examples", "--quiet", "--target-dir"]);
    run_to_end(check.arg(target().join("weigh/examples")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_hello_worlds_stand_with_their_locks() {
        for peer in [OURS, THEIRS] {
            let manifest = crate::process::root().join(peer.manifest());
            assert!(manifest.is_file(), "{}", manifest.display());
            assert!(manifest.with_file_name("Cargo.lock").is_file());
        }
    }
}
