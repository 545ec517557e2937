//! The measuring: all contestants, again and again, in turns.

use std::process::Command;

use super::Options;
use super::contestants::{Binding, Contestant};
use super::plan::{Latency, Plan, Report, Slice, Task};
use super::programs::Programs;
use crate::process::output;
use crate::result::Result;

/// Numbers of connections.
pub(super) const CONNECTIONS: [usize; 3] = [1, 16, 64];

/// Numbers of calls in flight on a pipe.
pub(super) const IN_FLIGHT: [usize; 2] = [1, 64];

/// Seconds that one task may take at most.
const LIMIT: u64 = 180;

/// A contestant and its report of each round.
pub(super) struct Entry {
    pub(super) contestant: Contestant,
    pub(super) rounds: Vec<Report>,
    /// The reason why it has no figures, or not all.
    pub(super) fault: Option<String>,
}

impl Entry {
    /// Returns a figure of each round, of the slice of that width.
    pub(super) fn figures(
        &self,
        width: usize,
        figure: impl Fn(&Slice) -> Option<f64>,
    ) -> Vec<Option<f64>> {
        let slice = |report: &Report| {
            let slice = report.slices.iter().find(|slice| slice.width == width)?;
            figure(slice)
        };
        self.rounds.iter().map(slice).collect()
    }

    pub(super) fn rates(&self, width: usize) -> Vec<Option<f64>> {
        self.figures(width, |slice| Some(slice.calls_per_second))
    }

    /// Returns the microseconds of CPU of the server for each call, where there are enough to be seen.
    pub(super) fn cpu(&self, width: usize) -> Vec<Option<f64>> {
        self.figures(width, |slice| Some(slice.server_us).filter(|us| *us > 0.0))
    }

    pub(super) fn latency(&self, width: usize, of: fn(Latency) -> f64) -> Vec<Option<f64>> {
        self.figures(width, |slice| slice.latency.map(of))
    }
}

/// Measures all rounds. Every second one goes backwards, so that the order of two contestants changes.
pub(super) fn measure(
    contestants: &[Contestant],
    programs: &Programs,
    options: &Options,
) -> Vec<Entry> {
    let entry = |contestant: &Contestant| Entry {
        contestant: *contestant,
        rounds: Vec::new(),
        fault: programs.command(contestant).err(),
    };
    let mut entries: Vec<Entry> = contestants.iter().map(entry).collect();
    for round in 0..options.rounds() {
        eprintln!("round {} of {}", round + 1, options.rounds());
        entries.reverse();
        for entry in entries.iter_mut().filter(|entry| entry.fault.is_none()) {
            match turn(&entry.contestant, programs, options) {
                Ok(report) => entry.rounds.push(report),
                Err(fault) => {
                    eprintln!("!! {}: {fault}", entry.contestant.name);
                    entry.fault = Some(fault.to_string());
                }
            }
        }
    }
    entries.sort_by_key(|entry| {
        let name = entry.contestant.name;
        contestants.iter().position(|one| one.name == name)
    });
    entries
}

/// Measures a contestant in one round, each task on a new process.
fn turn(contestant: &Contestant, programs: &Programs, options: &Options) -> Result<Report> {
    let task = |task| -> Result<Report> {
        let plan = Plan {
            command: programs.command(contestant)?,
            dialect: contestant.dialect,
            task,
            limit: LIMIT,
        };
        let plan = serde_json::to_string(&plan)?;
        let report = output(Command::new(&programs.driver).arg(plan))?;
        Ok(serde_json::from_str(&report)?)
    };
    let time = options.time();
    let mut report = match contestant.binding {
        Binding::Http => task(Task::Http {
            connections: CONNECTIONS.to_vec(),
            time,
        })?,
        Binding::Stdio => task(Task::Stdio {
            in_flight: IN_FLIGHT.to_vec(),
            time,
        })?,
    };
    if contestant.starts() {
        let times = if options.quick { 1 } else { 5 };
        report.starts_ms = task(Task::Start { times })?.starts_ms;
    }
    if contestant.has_sessions() {
        let count = if options.quick { 200 } else { 1000 };
        report.session_bytes = task(Task::Sessions { count })?.session_bytes;
    }
    Ok(report)
}
