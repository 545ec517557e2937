//! The proofs that need other people's software, all of it on Node: the official conformance suite,
//! and the matrices of clients and servers. Our server is the tool as the tests build it, with every
//! assertion on: nearly all that it needs is there already.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::process::{cannot_start, cargo, root, run, target};

/// `cargo xtask conformance [arguments of conformance.mjs]`: our server. Arguments narrow it down.
pub(crate) fn conformance(arguments: &[String]) -> Result<(), String> {
    script("tests/js/conformance.mjs", arguments)
}

/// `cargo xtask conformance-client [SCENARIO]`: our client.
pub(crate) fn conformance_client(arguments: &[String]) -> Result<(), String> {
    run(&mut cargo([
        "build",
        "--package",
        "turnbuckle",
        "--example",
        "everything-client",
    ]))?;
    run(Command::new(node()?)
        .arg("tests/js/conformance-client.mjs")
        .arg(target().join("debug/examples/everything-client"))
        .args(arguments)
        .current_dir(root()))
}

/// `cargo xtask interop [arguments of interop.mjs]`: other people's clients with our server, then our
/// client with their servers and ours. Arguments are for the first alone: they narrow it down.
pub(crate) fn interop(arguments: &[String]) -> Result<(), String> {
    script("tests/js/interop.mjs", arguments)?;
    if !arguments.is_empty() {
        return Ok(());
    }
    run(&mut cargo(["build", "--package", "turnbuckle-interop"]))?;
    run(Command::new(target().join("debug/interop-client"))
        .arg("--node")
        .arg(node()?)
        .arg("--turnbuckle")
        .arg(server()?)
        .current_dir(root()))
}

/// Our server.
fn server() -> Result<PathBuf, String> {
    run(&mut cargo(["build", "--package", "turnbuckle-cli"]))?;
    Ok(target().join("debug/turnbuckle"))
}

fn script(script: &str, arguments: &[String]) -> Result<(), String> {
    let server = server()?;
    run(Command::new(node()?)
        .arg(script)
        .arg(server)
        .args(arguments)
        .current_dir(root()))
}

/// The node that the scripts need, which is newer than most machines', with their packages.
pub(crate) fn node() -> Result<String, String> {
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
