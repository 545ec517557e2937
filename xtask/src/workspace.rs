//! The build of the whole workspace that all steps of the check share, so that nothing is compiled twice.
//!
//! Clippy stands in the compiler's place for the crates of the workspace: it compiles them as the
//! compiler does, and lints them at the same time.

use std::process::Command;

use crate::process::cargo;

/// Clippy in the compiler's place.
const LINTING: [&str; 2] = ["--config", "build.rustc-workspace-wrapper='clippy-driver'"];

/// Returns a subcommand of cargo for the whole workspace but this program. A lint that warns is an error.
pub(crate) fn workspace(subcommand: &[&str]) -> Command {
    let mut command = linting(subcommand);
    command.args(["--workspace", "--exclude=xtask", "--all-features"]);
    command
}

/// Returns a subcommand of cargo for this program, which is there already: as a part of the workspace, its
/// dependencies would have other features, and be built again.
pub(crate) fn this_program(subcommand: &[&str]) -> Command {
    let mut command = linting(subcommand);
    command.args(["--package", "xtask"]);
    command
}

fn linting(subcommand: &[&str]) -> Command {
    let mut command = cargo(subcommand.iter().copied());
    command.args(LINTING).env("CLIPPY_ARGS", "--deny=warnings");
    command
}
