//! `cargo xtask soak [--minutes N | --seconds N] [--seed S]`: badly behaved clients, a server among
//! them, and what is left of it all; see `benches/soak`.

use std::process::Command;

use crate::process::{cargo, run as run_to_end, target};
use crate::programs::SOAK;

/// The load of the short form, in seconds; what surrounds it takes three times as long.
const SHORT: &str = "5";

/// `cargo xtask soak`: half an hour unless told otherwise, of the release build.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    run_to_end(&mut cargo([
        "build",
        "--release",
        "--quiet",
        "--package=turnbuckle-soak",
    ]))?;
    let program = target().join("release/turnbuckle-soak");
    run_to_end(Command::new(program).args(arguments))
}

/// The short form, of the build that the tests have, which is there already.
pub(crate) fn briefly() -> Result<(), String> {
    run_to_end(Command::new(SOAK.path()).args(["--seconds", SHORT]))
}
