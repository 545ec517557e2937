//! `cargo xtask haproxy`: servers behind HAProxy, which is installed by hand.

use std::process::Command;

use crate::process::{cargo, output, run as run_to_end};

/// The test, which `cargo test` leaves out.
const TEST: &str = "mounting::haproxy::";

/// Runs the test with the HAProxy of this machine.
pub(crate) fn run() -> Result<(), String> {
    let version = output(Command::new("haproxy").arg("-v"));
    let version = version.map_err(|error| format!("{error}: install the package haproxy"))?;
    println!("{}", version.lines().next().unwrap_or_default());
    run_to_end(&mut cargo([
        "test",
        "--package=turnbuckle-it",
        "--test=it",
        "--",
        "--ignored",
        TEST,
    ]))
}
