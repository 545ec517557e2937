//! `cargo xtask page`: the page of the Inspector: its sources, its built files, and the page in Chromium
//! with the tool.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::process::{output, root, run as run_to_end};
use crate::programs::TOOL;

/// Checks the sources and the built files, then builds the tool and tests the page with it.
pub(crate) fn run() -> Result<(), String> {
    check_sources()?;
    TOOL.build()?;
    check_in_browser()
}

/// Checks format, lints, types and unit tests of the sources, and that they build the files that the
/// engine embeds.
pub(crate) fn check_sources() -> Result<(), String> {
    run_to_end(npm()?.args(["run", "--silent", "check"]))
}

/// Runs every test of the page in Chromium with the tool, which is built.
pub(crate) fn check_in_browser() -> Result<(), String> {
    test_in_browser(&[])
}

/// Does what people do with the page most, in Chromium with the tool, which is built.
pub(crate) fn check_at_work() -> Result<(), String> {
    test_in_browser(&["--", "jobs"])
}

fn test_in_browser(files: &[&str]) -> Result<(), String> {
    let mut tests = npm()?;
    tests.args(["run", "--silent", "browser"]).args(files);
    tests.env("TURNBUCKLE", TOOL.path());
    run_to_end(tests.env("CHROMIUM", script(&["chromium.sh"])?))
}

/// Returns npm with the pinned Node, after the pinned packages are installed.
fn npm() -> Result<Command, String> {
    let node = PathBuf::from(script(&["install.sh", "--where"])?);
    let own = node.parent().map(PathBuf::from);
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&others)));
    let mut npm = Command::new("npm");
    npm.current_dir(folder());
    npm.env("PATH", path.map_err(|error| error.to_string())?);
    Ok(npm)
}

/// Runs a script of the folder, and returns the path that it prints.
fn script(arguments: &[&str]) -> Result<String, String> {
    let mut script = Command::new("sh");
    script.args(arguments).current_dir(folder());
    output(script.stderr(Stdio::inherit())).map(|path| path.trim().to_owned())
}

fn folder() -> PathBuf {
    root().join("crates/turnbuckle-inspector/web")
}
