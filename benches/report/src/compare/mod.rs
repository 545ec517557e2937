//! `cargo xtask bench`: floors, our servers and those of other SDKs side by side, in turns, on this machine.
//!
//! It prints Markdown; `docs/performance.md` says how it is measured. Servers listen on the loopback alone
//! and end with their task.

mod contestants;
#[path = "../../../load/src/plan.rs"]
mod plan;
mod programs;
mod report;
mod rounds;

use std::{fs, thread};

use crate::result::Result;
use plan::Time;
use programs::Programs;

/// The options of `cargo xtask bench`.
#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// Rounds: 7, or 2 with --quick, unless given
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Only servers whose names begin so, with their floors
    #[arg(long, num_args = 1.., value_name = "NAME")]
    only: Vec<String>,
    /// Take short measurements
    #[arg(long)]
    quick: bool,
}

impl Options {
    fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 7 })
    }

    /// Returns the time of a slice.
    fn time(&self) -> Time {
        let (warm_ms, measured_ms) = if self.quick { (50, 150) } else { (200, 700) };
        Time {
            warm_ms,
            measured_ms,
        }
    }
}

/// Measures, and prints the tables.
pub(crate) fn run(options: &Options) -> Result {
    let contestants = contestants::select(&options.only)?;
    let programs = Programs::build(&contestants)?;
    let entries = rounds::measure(&contestants, &programs, options);
    println!("{}\n", conditions(options));
    println!("{}", report::tables(&entries));
    // Programs of other SDKs may be missing; a floor or a server of ours may not.
    let broken = entries
        .iter()
        .filter(|entry| entry.contestant.program.is_own() && entry.fault.is_some());
    let names: Vec<_> = broken.map(|entry| entry.contestant.name).collect();
    if names.is_empty() {
        Ok(())
    } else {
        Err(format!("not measured: {}", names.join(", ")).into())
    }
}

/// Returns the machine and the times of a measurement.
fn conditions(options: &Options) -> String {
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut lines = information.lines();
    let model = lines.find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("unknown", |model| {
        model.trim_start_matches([' ', '\t', ':'])
    });
    let cores = thread::available_parallelism().map_or(0, usize::from);
    format!(
        "{} rounds of {} ms a slice, on {cores} cores ({model}). Medians; in brackets the quartiles.",
        options.rounds(),
        options.time().measured_ms
    )
}
