//! `cargo xtask bench`: floors, ours and other SDKs side by side, in turns, on this machine.
//!
//! What is printed on stdout is Markdown; `--write` puts it into `docs/performance.md`, which tells
//! how it is measured. Servers listen on the loopback alone and end with their task.

mod budget;
mod contestants;
mod document;
mod options;
#[path = "../../../load/src/plan.rs"]
mod plan;
mod programs;
mod report;
mod rounds;
mod statistics;
mod table;
mod weight;

use std::fs;
use std::thread;

pub(crate) use options::Options;
use programs::Programs;
use rounds::Entry;

/// Measures and prints the tables, or writes them; `--budget` only brings the
/// document's table of instructions up to date.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if !options.budget {
        let contestants = contestants::select(&options.only)?;
        let programs = Programs::build(&contestants)?;
        let entries = rounds::measure(&contestants, &programs, options);
        let weights = weight::weigh(&contestants)?;
        let tables = report::tables(&entries, &weights);
        let text = format!("{}\n\n{tables}", conditions(options));
        println!("{text}");
        own_are_whole(&entries)?;
        if options.write {
            document::fill("bench", &text)?;
        }
    }
    if options.write || options.budget {
        document::fill("budget", &budget::tables()?)?;
    }
    Ok(())
}

/// Others may be missing, for all that is theirs; a floor or a server of ours may not.
fn own_are_whole(entries: &[Entry]) -> Result<(), String> {
    let broken = entries
        .iter()
        .filter(|entry| entry.contestant.program.is_own() && entry.fault.is_some());
    let names: Vec<_> = broken.map(|entry| entry.contestant.name).collect();
    if names.is_empty() {
        Ok(())
    } else {
        Err(format!("not measured: {}", names.join(", ")))
    }
}

/// Returns the machine and the times of a measurement.
fn conditions(options: &Options) -> String {
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
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
