//! `cargo xtask soak`: attacks on a server and on a client, and the service of an honest client meanwhile
//! (`benches/soak`).

use std::process::Command;

use crate::process::{cargo, run as run_to_end, target};
use crate::programs::SOAK;

/// Runs the release build, which plays each attack for ten seconds unless the arguments say otherwise.
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
    run_to_end(Command::new(SOAK.path()).arg("--brief"))
}
