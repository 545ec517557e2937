//! `cargo xtask book`: the guide, built by the mdBook that it is written for, with its texts for
//! language models.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::llms;
use crate::process::{cannot_start, cargo, command_line, root, run as run_to_end, target};

/// The version of mdBook, which is built from the registry once for each target folder.
const VERSION: &str = "0.5.4";

/// Builds the guide into `book` in the target folder.
pub(crate) fn run() -> Result<(), String> {
    let book = target().join("book");
    let mut build = Command::new(mdbook()?);
    build.arg("build").arg("--dest-dir").arg(&book).arg("docs");
    build.current_dir(root()).env("MDBOOK_LOG", "warn");
    let output = build
        .stdout(Stdio::inherit())
        .output()
        .map_err(|error| cannot_start(&build, &error))?;
    // mdBook goes on over an include that leads nowhere; under this log level it is silent else.
    let complaints = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !complaints.trim().is_empty() {
        return Err(format!(
            "{}: {}\n{complaints}",
            command_line(&build),
            output.status
        ));
    }
    llms::write(&root(), &book)?;
    println!("{}", book.display());
    Ok(())
}

/// Returns the path of the pinned mdBook, which is built first where it is missing.
fn mdbook() -> Result<PathBuf, String> {
    let folder = target().join(format!("tools/mdbook-{VERSION}"));
    let binary = folder
        .join("bin/mdbook")
        .with_extension(std::env::consts::EXE_EXTENSION);
    if !binary.is_file() {
        // The book is small: building mdBook without optimizing costs half.
        let mut install = cargo(["install", "mdbook", "--version", VERSION, "--locked"]);
        install.args(["--no-default-features", "--debug", "--quiet", "--root"]);
        install.arg(&folder).env("CARGO_PROFILE_DEV_DEBUG", "0");
        // What it is built of goes to a folder that cargo deletes.
        run_to_end(install.env_remove("CARGO_TARGET_DIR"))?;
    }
    Ok(binary)
}
