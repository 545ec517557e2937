//! The sizes of the programs: hello worlds as anybody builds them for others, and
//! the tool.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::peer::OURS;
use crate::process::{cargo, run, target};

/// The build of a hello world.
#[derive(Clone, Copy)]
enum Profile {
    /// In cargo's release profile as it comes.
    AsItComes,
    /// In a release profile of two lines, which the guide shows.
    Whole,
}

/// The lines: all crates are optimized as one, and what nobody calls goes.
const WHOLE: [(&str, &str); 2] = [
    ("CARGO_PROFILE_RELEASE_LTO", "true"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
];

/// Returns the bytes of each, stripped, by its name in the budget.
pub(super) fn stripped_sizes() -> Result<[(&'static str, u64); 5], String> {
    use Profile::{AsItComes, Whole};
    let (stdio, http): (&[_], &[_]) = (&[], &["--features", "http"]);
    Ok([
        ("stdio-hello", size(&hello("stdio", AsItComes, stdio)?)?),
        ("stdio-hello-lto", size(&hello("stdio-lto", Whole, stdio)?)?),
        ("http-hello", size(&hello("http", AsItComes, http)?)?),
        ("http-hello-lto", size(&hello("http-lto", Whole, http)?)?),
        ("tool", size(&tool()?)?),
    ])
}

fn hello(name: &str, profile: Profile, features: &[&str]) -> Result<PathBuf, String> {
    let folder = target().join("weigh/release");
    let mut build = OURS.cargo("build");
    build
        .args(["--release", "--quiet", "--target-dir"])
        .arg(&folder)
        .args(features);
    match profile {
        Profile::AsItComes => {}
        Profile::Whole => {
            build.envs(WHOLE);
        }
    }
    run(&mut build)?;
    // The next build writes it again.
    let program = folder.join(name);
    let built = folder.join("release/hello-turnbuckle");
    match fs::copy(&built, &program) {
        Ok(_) => Ok(program),
        Err(error) => Err(format!("{}: {error}", built.display())),
    }
}

/// Returns the tool as it is given to people.
fn tool() -> Result<PathBuf, String> {
    run(&mut cargo(["xtask", "dist"]))?;
    Ok(target().join("dist/turnbuckle"))
}

fn size(program: &Path) -> Result<u64, String> {
    let bare = program.with_extension("stripped");
    run(Command::new("strip").arg("-o").arg(&bare).arg(program))?;
    let size = fs::metadata(&bare).map(|it| it.len());
    size.map_err(|error| format!("{}: {error}", bare.display()))
}
