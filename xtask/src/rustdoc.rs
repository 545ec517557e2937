//! Rustdoc's JSON of the library crates.

use std::process::{Command, ExitCode};

use crate::process::{self, cargo};

/// The variable with which cargo starts this program in rustdoc's place.
const AS_RUSTDOC: &str = "TURNBUCKLE_XTASK_RUSTDOC";

/// Runs rustdoc where cargo started this program in its place; returns its status then.
///
/// It runs as docs.rs runs it, with the labels of features, so a broken link of a comment is an error
/// here; it writes JSON, though. The JSON is unstable, so the pinned rustdoc is told to act as a nightly one. Build
/// scripts read the variable that says so, and all that depends on them would be built again: so only rustdoc
/// gets it.
pub(crate) fn act_as_rustdoc() -> Option<ExitCode> {
    std::env::var_os(AS_RUSTDOC)?;
    let mut rustdoc = Command::new("rustdoc");
    rustdoc
        .args(std::env::args_os().skip(1))
        .args(["-Zunstable-options", "--output-format=json"])
        .args(["--cfg=docsrs", "--deny=warnings"])
        .env_remove(AS_RUSTDOC)
        .env("RUSTC_BOOTSTRAP", "1");
    Some(match process::run(&mut rustdoc) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}

/// Writes rustdoc's JSON of the crates with every feature.
pub(crate) fn write_json(packages: &[String]) -> Result<(), String> {
    let mut doc = cargo(["doc", "--quiet", "--no-deps", "--lib", "--all-features"]);
    for package in packages {
        doc.args(["--package", package]);
    }
    let this = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    process::run(doc.env("RUSTDOC", this).env(AS_RUSTDOC, "1"))
}
