//! The `turnbuckle` command.
//!
//! It ends with exit code 0, with 1 when it could not do its work, and with 2 when it was called
//! wrongly.

mod demo;
mod ending;
mod failure;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// The Model Context Protocol in every revision
#[derive(Parser)]
#[command(name = "turnbuckle", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serves every feature of the protocol, to try clients with
    Demo(demo::Options),
}

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Failure> {
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure::new(format!("the runtime does not start: {error}")))?;
    let ended = match command {
        Command::Demo(options) => runtime.block_on(demo::run(options)),
    };
    // Handlers that still block a thread are not waited for.
    runtime.shutdown_background();
    ended
}
