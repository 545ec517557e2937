//! The measuring: all contestants, again and again, in turns.

use std::path::Path;
use std::process::{Command, Stdio};

use super::contestants::{Binding, Contestant};
use super::options::Options;
use super::plan::{Latency, Plan, Report, Slice, Task};
use super::programs::Programs;
use crate::process::cannot_start;

/// Numbers of connections.
pub(super) const CONNECTIONS: [usize; 3] = [1, 16, 64];

/// Numbers of calls in flight on a pipe.
pub(super) const IN_FLIGHT: [usize; 2] = [1, 64];

/// Seconds that one task may take at most.
const LIMIT: u64 = 180;

/// A contestant and what it did in each round.
pub(super) struct Entry {
    pub(super) contestant: Contestant,
    pub(super) rounds: Vec<Report>,
    /// Why it has no figures, or not all.
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

    /// Microseconds of CPU of the server for each call; none where it was too little to be seen.
    pub(super) fn cpu(&self, width: usize) -> Vec<Option<f64>> {
        self.figures(width, |slice| Some(slice.server_us).filter(|us| *us > 0.0))
    }

    pub(super) fn latency(&self, width: usize, of: fn(Latency) -> f64) -> Vec<Option<f64>> {
        self.figures(width, |slice| slice.latency.map(of))
    }
}

/// Returns all rounds. Every second one goes backwards, so that nobody always comes after the same one.
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
        let count = entries.len();
        for step in 0..count {
            let index = if round % 2 == 0 {
                step
            } else {
                count - 1 - step
            };
            let entry = &mut entries[index];
            if entry.fault.is_some() {
                continue;
            }
            match turn(&entry.contestant, programs, options) {
                Ok(report) => entry.rounds.push(report),
                Err(fault) => {
                    eprintln!("!! {}: {fault}", entry.contestant.name);
                    entry.fault = Some(fault);
                }
            }
        }
    }
    entries
}

/// Measures everything of one contestant in one round, each task on a new process.
fn turn(contestant: &Contestant, programs: &Programs, options: &Options) -> Result<Report, String> {
    let task = |task| {
        let plan = Plan {
            command: programs.command(contestant)?,
            dialect: contestant.dialect,
            task,
            limit: LIMIT,
        };
        drive(&programs.driver, &plan)
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
        let times = options.starts();
        report.starts_ms = task(Task::Start { times })?.starts_ms;
    }
    if contestant.has_sessions() {
        let count = options.sessions();
        report.session_bytes = task(Task::Sessions { count })?.session_bytes;
    }
    Ok(report)
}

/// Returns one run of the driver.
fn drive(driver: &Path, plan: &Plan) -> Result<Report, String> {
    let plan = serde_json::to_string(plan).map_err(|error| error.to_string())?;
    let mut command = Command::new(driver);
    let output = command
        .arg(plan)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot_start(&command, &error))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(told.trim().to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("no report: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::contestants::select;

    #[test]
    fn figures_are_found_by_their_width_round_by_round() {
        let slice = |width, calls_per_second| Slice {
            width,
            calls_per_second,
            server_us: 10.0,
            driver_us: 5.0,
            latency: None,
        };
        let rounds = [vec![slice(1, 7.0), slice(16, 70.0)], vec![slice(1, 8.0)]];
        let entry = Entry {
            contestant: select(&[]).unwrap()[0],
            rounds: rounds
                .map(|slices| Report {
                    slices,
                    ..Report::default()
                })
                .into(),
            fault: None,
        };
        assert_eq!(entry.rates(1), [Some(7.0), Some(8.0)]);
        assert_eq!(entry.rates(16), [Some(70.0), None]);
        assert_eq!(entry.cpu(1), [Some(10.0), Some(10.0)]);
        assert_eq!(entry.latency(1, |latency| latency.p50), [None, None]);
    }

    #[test]
    fn what_the_driver_says_is_a_report_or_the_fault() {
        let plan = Plan {
            command: Vec::new(),
            dialect: super::super::plan::Dialect::Bare,
            task: Task::Start { times: 1 },
            limit: 1,
        };
        // `echo` gives the plan back, which is no report; `false` fails.
        let told = drive(Path::new("echo"), &plan).unwrap_err();
        assert!(told.starts_with("no report"), "{told}");
        assert!(drive(Path::new("false"), &plan).is_err());
        assert!(drive(Path::new("there-is-no-such"), &plan).is_err());
    }
}
