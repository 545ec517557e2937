//! A soak: a server in a process of its own, over HTTP in both eras and over HTTP+SSE, and servers
//! on pipes; thousands of clients that behave badly; and among them some that do not, all of whose
//! answers are checked. Then everybody leaves, and what the server holds is what it held before.
//!
//! `turnbuckle-soak [--minutes N] [--seconds N] [--seed S]`; `cargo xtask soak` builds and runs it.
//! `turnbuckle-soak attacks [--seconds N] [--only WORD] [--server PROGRAM] [--brief]` plays every attack by
//! itself and measures what it does to the server and to an honest client. The other words are what it
//! starts itself with (see `role`).
#![allow(clippy::print_stdout, reason = "the table is what it is for")]

mod address;
mod attacks;
mod bad;
mod counts;
mod driver;
mod good;
mod hostile;
mod problem;
mod process;
mod random;
mod raw;
mod role;
mod route;
mod server;
mod started;
mod still;
mod volume;

use std::process::ExitCode;
use std::time::Duration;

use driver::Plan;
use problem::Problem;

const USAGE: &str = "usage: turnbuckle-soak [--minutes N | --seconds N] [--seed S]";

/// The time that a soak is unless told otherwise.
const LONG: Duration = Duration::from_secs(30 * 60);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("attacks") => return exit_code(attacks::play(&arguments[1..])),
        Some(role) if !role.starts_with('-') => return exit_code(role::play(role)),
        _ => {}
    }
    match plan(&arguments) {
        Some(plan) => exit_code(driver::run(&plan)),
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn exit_code(outcome: Result<(), Problem>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("turnbuckle-soak: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn plan(arguments: &[String]) -> Option<Plan> {
    let mut plan = Plan {
        time: LONG,
        seed: random::fresh(),
    };
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { return None };
        let number: u64 = value.parse().ok()?;
        match name.as_str() {
            "--minutes" => plan.time = Duration::from_secs(number.checked_mul(60)?),
            "--seconds" => plan.time = Duration::from_secs(number),
            "--seed" => plan.seed = number,
            _ => return None,
        }
    }
    Some(plan)
}
