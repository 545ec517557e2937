//! Loads one server and measures it: `turnbuckle-load PLAN`, both the plan and the printed report in
//! JSON, as [`plan`] has them.
//!
//! It is cheap, so that the server is measured and not the driver: one thread, requests that are made before
//! the clock runs and changed in place, and answers of which only the end is looked for.

mod http;
mod message;
mod plan;
mod server;
mod stdio;

use std::io;
use std::process::ExitCode;

use plan::{Plan, Task};

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
    server::limit(plan.limit);
    let report = match &plan.task {
        Task::Http { connections, time } => http::run(&plan, connections, *time)?,
        Task::Stdio { in_flight, time } => stdio::run(&plan, in_flight, *time)?,
        Task::Start { times } => stdio::start(&plan, *times)?,
        Task::Sessions { count } => http::open_sessions(&plan, *count)?,
    };
    Ok(serde_json::to_writer(io::stdout(), &report)?)
}
