//! Loads one server and measures it: `turnbuckle-load PLAN`, both the plan and what is printed in
//! JSON, as [`plan`] has them.
//!
//! It is cheap, so that the server is what is measured: one thread, requests that are made before the
//! clock runs and changed in place, a scanner that reads of an answer only where it ends.

mod http;
mod message;
mod plan;
mod scan;
mod server;
mod sessions;
mod start;
mod stdio;
mod tally;

use std::io::{self, Write};
use std::process::ExitCode;

use plan::{Plan, Report, Task};

fn main() -> ExitCode {
    let plan = std::env::args().nth(1).unwrap_or_default();
    match run(&plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("turnbuckle-load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(plan: &str) -> io::Result<()> {
    let plan: Plan = serde_json::from_str(plan)?;
    let report = match &plan.task {
        Task::Http { connections, time } => http::run(&plan, connections, *time)?,
        Task::Stdio { in_flight, time } => stdio::run(&plan, in_flight, *time)?,
        Task::Start { times } => start::run(&plan, *times)?,
        Task::Sessions { count } => sessions::run(&plan, *count)?,
    };
    print(&report)
}

fn print(report: &Report) -> io::Result<()> {
    let mut out = io::stdout();
    serde_json::to_writer(&mut out, report)?;
    out.write_all(b"\n")
}
