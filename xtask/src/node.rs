//! The proofs written in JavaScript: the official conformance suite and other people's clients,
//! both against the release build of the demo server.

use std::process::{Command, Stdio};

use crate::process::{cannot_start, cargo, root, run, target};

/// `cargo xtask conformance [arguments of conformance.mjs]`.
pub(crate) fn conformance(arguments: &[String]) -> Result<(), String> {
    script("tests/js/conformance.mjs", arguments)
}

/// `cargo xtask interop [arguments of interop.mjs]`.
pub(crate) fn interop(arguments: &[String]) -> Result<(), String> {
    script("tests/js/interop.mjs", arguments)
}

fn script(script: &str, arguments: &[String]) -> Result<(), String> {
    run(&mut cargo([
        "build",
        "--release",
        "--package",
        "turnbuckle-cli",
    ]))?;
    let server = target().join("release/turnbuckle");
    run(Command::new(node()?)
        .arg(script)
        .arg(server)
        .args(arguments)
        .current_dir(root()))
}

/// The node that the scripts need, which is newer than most machines', with their packages.
fn node() -> Result<String, String> {
    let mut install = Command::new("sh");
    install
        .args(["tests/js/install.sh", "--where"])
        .current_dir(root())
        .stderr(Stdio::inherit());
    let output = install
        .output()
        .map_err(|error| cannot_start(&install, &error))?;
    if !output.status.success() {
        return Err(format!("tests/js/install.sh: {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
