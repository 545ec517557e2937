//! How large the programs are that come of it: hello worlds as anybody builds them for others, and
//! the tool.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::OURS;
use crate::process::{cargo, run, target};

/// The bytes of each, stripped, by its name in the budget.
pub(super) fn stripped() -> Result<[(&'static str, u64); 3], String> {
    Ok([
        ("stdio-hello", size(&hello("stdio", &[])?)?),
        (
            "http-hello",
            size(&hello("http", &["--features", "http"])?)?,
        ),
        ("tool", size(&tool()?)?),
    ])
}

/// A hello world in cargo's release profile as it comes.
fn hello(name: &str, features: &[&str]) -> Result<PathBuf, String> {
    let folder = target().join("weigh/release");
    let mut build = OURS.cargo("build");
    build
        .args(["--release", "--quiet", "--target-dir"])
        .arg(&folder)
        .args(features);
    run(&mut build)?;
    // The next build writes it again.
    let program = folder.join(name);
    let built = folder.join("release/hello-turnbuckle");
    match fs::copy(&built, &program) {
        Ok(_) => Ok(program),
        Err(error) => Err(format!("{}: {error}", built.display())),
    }
}

/// The tool as it is given to people.
fn tool() -> Result<PathBuf, String> {
    let package = [
        "build",
        "--profile",
        "dist",
        "--quiet",
        "--package",
        "turnbuckle-cli",
    ];
    run(&mut cargo(package))?;
    Ok(target().join("dist/turnbuckle"))
}

fn size(program: &Path) -> Result<u64, String> {
    let bare = program.with_extension("stripped");
    run(Command::new("strip").arg("-o").arg(&bare).arg(program))?;
    let size = fs::metadata(&bare).map(|it| it.len());
    size.map_err(|error| format!("{}: {error}", bare.display()))
}
