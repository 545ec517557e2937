//! `cargo xtask soak`: clients that behave badly, a server among them, and what is left of them
//! (`benches/soak`).

use std::process::Command;

use crate::process::{cargo, run as run_to_end, target};
use crate::programs::SOAK;

/// The load of the short form, in seconds; the rest of it takes three times as long.
const SHORT_SECONDS: &str = "5";

/// Runs the release build, for half an hour unless the arguments say otherwise.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    run_to_end(&mut cargo([
        "build",
        "--release",
        "--quiet",
        "--package=turnbuckle-soak",
    ]))?;
    run_to_end(Command::new(target().join("release/turnbuckle-soak")).args(arguments))
}

/// Runs the short form of the build that the tests have.
pub(crate) fn run_briefly() -> Result<(), String> {
    run_to_end(Command::new(SOAK.path()).args(["--seconds", SHORT_SECONDS]))
}
