//! Measures the project: `cargo xtask bench`, `cargo xtask budget` and `cargo xtask weigh` start it.
#![allow(clippy::print_stdout, reason = "a command prints its results")]

mod budget;
mod compare;
#[path = "../../../xtask/src/process.rs"]
mod process;
mod result;
mod weigh;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The command line.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure floors, our servers and those of other SDKs side by side
    Bench(compare::Options),
    /// Count instructions and allocations, and compare them with benches/budget/budget.toml
    Budget(budget::Options),
    /// Weigh a hello world beside the official SDK's: crates, CPU seconds of a build, sizes
    Weigh(weigh::Options),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Bench(options) => compare::run(&options),
        Command::Budget(options) => budget::run(&options),
        Command::Weigh(options) => weigh::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
