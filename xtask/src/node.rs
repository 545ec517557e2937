//! The checks that need software of others on Node: the official conformance suite, and the tables
//! of clients and servers.

use std::path::PathBuf;
use std::process::Command;

use crate::process::{cargo, node, root, run, target};
use crate::programs::{EVERYTHING_CLIENT, INTEROP_AUTH, INTEROP_CLIENT, TOOL};
use crate::workspace::workspace;

/// Builds our server and runs the official suite against it, and without arguments also against the
/// authorization server for tests; the arguments of tests/js/conformance.mjs narrow it down.
pub(crate) fn conformance(arguments: &[String]) -> Result<(), String> {
    TOOL.build()?;
    check_server(arguments)?;
    match arguments.is_empty() {
        true => check_authorization_server(),
        false => Ok(()),
    }
}

/// Builds our client and runs the official suite against it, or one scenario.
pub(crate) fn conformance_client(arguments: &[String]) -> Result<(), String> {
    EVERYTHING_CLIENT.build()?;
    check_client(arguments)
}

/// Builds our programs and runs them with those of others; the arguments of tests/js/interop.mjs
/// narrow it down to some clients of others.
pub(crate) fn interop(arguments: &[String]) -> Result<(), String> {
    TOOL.build()?;
    INTEROP_CLIENT.build()?;
    INTEROP_AUTH.build()?;
    check_interop(arguments)
}

/// Runs the official suite against our server, which is built.
pub(crate) fn check_server(arguments: &[String]) -> Result<(), String> {
    run(script("conformance.mjs")?.arg(TOOL.path()).args(arguments))
}

/// Runs the official suite against the authorization server for tests.
pub(crate) fn check_authorization_server() -> Result<(), String> {
    let mut test = workspace(&["test", "--quiet", "--lib"]);
    let name = "the_official_authorization_scenarios_pass";
    run(test.args(["--", "--ignored", name]).env("NODE", node()?))
}

/// Runs the official suite against our client, which is built.
pub(crate) fn check_client(arguments: &[String]) -> Result<(), String> {
    run(script("conformance-client.mjs")?
        .arg(EVERYTHING_CLIENT.path())
        .args(arguments))
}

/// Runs clients of others with our server, then our client with every server, then clients of others with their servers
/// behind our bridge, then logins of both kinds; all of ours is built.
fn check_interop(arguments: &[String]) -> Result<(), String> {
    run(script("interop.mjs")?.arg(TOOL.path()).args(arguments))?;
    if !arguments.is_empty() {
        return Ok(());
    }
    let mut client = Command::new(INTEROP_CLIENT.path());
    client
        .arg("--node")
        .arg(node()?)
        .arg("--turnbuckle")
        .arg(TOOL.path())
        .arg("--rmcp-extensions")
        .arg(build_rmcp_extensions()?);
    run(client.current_dir(root()))?;
    let mut bridged = script("servers/check.mjs")?;
    bridged.arg("--through").arg(TOOL.path());
    run(bridged.args(["bridge", "--stdio", "--"]))?;
    check_logins(&[])
}

/// Builds the servers and clients of rmcp with extensions, a workspace of its own, and returns the path.
fn build_rmcp_extensions() -> Result<PathBuf, String> {
    let folder = target().join("peers");
    let mut build = cargo(["build", "--quiet", "--locked", "--manifest-path"]);
    build.arg(root().join("tests/peers-check/rmcp-extensions/Cargo.toml"));
    run(build.arg("--target-dir").arg(&folder))?;
    Ok(folder.join("debug/rmcp-extensions"))
}

/// Runs logins between ours and the programs of others; ours are built. The arguments of
/// tests/js/interop-auth.mjs narrow it down.
pub(crate) fn check_logins(arguments: &[String]) -> Result<(), String> {
    run(script("interop-auth.mjs")?
        .arg(INTEROP_AUTH.path())
        .args(arguments))
}

/// Builds our programs for logins and runs them with those of others.
pub(crate) fn logins(arguments: &[String]) -> Result<(), String> {
    INTEROP_AUTH.build()?;
    check_logins(arguments)
}

/// Runs the tests of the code that judges what the official suite reports.
pub(crate) fn check_scripts() -> Result<(), String> {
    // Each file is named, because Node.js 20 knows no patterns here and Node.js 22 no folders.
    let folder = std::fs::read_dir(root().join("tests/js/test")).map_err(|it| it.to_string())?;
    let files = folder.filter_map(Result::ok).map(|entry| entry.path());
    let mut tests = Command::new(node()?);
    run(tests.arg("--test").args(files).current_dir(root()))
}

fn script(name: &str) -> Result<Command, String> {
    let mut script = Command::new(node()?);
    script.arg(format!("tests/js/{name}")).current_dir(root());
    Ok(script)
}
