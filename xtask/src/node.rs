//! The proofs that need other people's software, all of it on Node: the official conformance suite,
//! and the matrices of clients and servers. Each is a chore that builds what it runs; of what is
//! built already, `prove_…` does the rest.

use std::process::{Command, Stdio};

use crate::process::{cannot_start, root, run};
use crate::programs::{EVERYTHING_CLIENT, INTEROP_CLIENT, TOOL};

/// `cargo xtask conformance [arguments of conformance.mjs]`: our server. Arguments narrow it down.
pub(crate) fn conformance(arguments: &[String]) -> Result<(), String> {
    TOOL.build()?;
    prove_server(arguments)
}

/// `cargo xtask conformance-client [SCENARIO]`: our client.
pub(crate) fn conformance_client(arguments: &[String]) -> Result<(), String> {
    EVERYTHING_CLIENT.build()?;
    prove_client(arguments)
}

/// `cargo xtask interop [arguments of interop.mjs]`: other people's clients with our server, then our
/// client with their servers and ours. Arguments are for the first alone: they narrow it down.
pub(crate) fn interop(arguments: &[String]) -> Result<(), String> {
    TOOL.build()?;
    INTEROP_CLIENT.build()?;
    prove_both(arguments)
}

pub(crate) fn prove_server(arguments: &[String]) -> Result<(), String> {
    run(script("conformance.mjs")?.arg(TOOL.path()).args(arguments))
}

pub(crate) fn prove_client(arguments: &[String]) -> Result<(), String> {
    let client = EVERYTHING_CLIENT.path();
    run(script("conformance-client.mjs")?
        .arg(client)
        .args(arguments))
}

pub(crate) fn prove_both(arguments: &[String]) -> Result<(), String> {
    run(script("interop.mjs")?.arg(TOOL.path()).args(arguments))?;
    if !arguments.is_empty() {
        return Ok(());
    }
    run(Command::new(INTEROP_CLIENT.path())
        .arg("--node")
        .arg(node()?)
        .arg("--turnbuckle")
        .arg(TOOL.path())
        .current_dir(root()))
}

/// A script of ours.
fn script(name: &str) -> Result<Command, String> {
    let mut script = Command::new(node()?);
    script.arg(format!("tests/js/{name}")).current_dir(root());
    Ok(script)
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
