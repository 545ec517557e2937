//! rustdoc's JSON of the library crates.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustdoc_types::{Crate, FORMAT_VERSION};
use serde::Deserialize;

use crate::process::{self, cargo};

/// The one field that is read before the rest: the rest depends on it.
#[derive(Deserialize)]
struct Format {
    format_version: u32,
}

/// What tells this program that cargo starts it in rustdoc's place.
const IN_ITS_PLACE: &str = "TURNBUCKLE_XTASK_RUSTDOC";

/// The JSON is unstable, so the pinned rustdoc is told to act as a nightly one. Build scripts look
/// at what tells it, and all that depends on them would be built anew: so rustdoc alone is told.
/// This is its exit status where it is started so, by cargo.
pub(crate) fn in_its_place() -> Option<ExitCode> {
    std::env::var_os(IN_ITS_PLACE)?;
    let mut rustdoc = Command::new("rustdoc");
    rustdoc
        .args(std::env::args_os().skip(1))
        .env_remove(IN_ITS_PLACE)
        .env("RUSTC_BOOTSTRAP", "1");
    Some(match rustdoc.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{}", process::cannot_start(&rustdoc, &error));
            ExitCode::FAILURE
        }
    })
}

/// The crates by their names, documented with every feature on.
pub(super) fn build(packages: &[String]) -> Result<BTreeMap<String, Crate>, String> {
    let this = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut doc = cargo(["doc", "--quiet", "--no-deps", "--lib", "--all-features"]);
    for package in packages {
        doc.args(["--package", package]);
    }
    doc.env("RUSTDOC", this).env(IN_ITS_PLACE, "1").env(
        "RUSTDOCFLAGS",
        "-Zunstable-options --output-format=json --cap-lints=allow",
    );
    process::run(&mut doc)?;
    let mut crates = BTreeMap::new();
    for package in packages {
        let file = format!("{}.json", package.replace('-', "_"));
        crates.insert(
            package.clone(),
            read(&process::target().join("doc").join(file))?,
        );
    }
    Ok(crates)
}

fn read(file: &Path) -> Result<Crate, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| unreadable(&error))?;
    let Format { format_version } =
        serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
    if format_version != FORMAT_VERSION {
        return Err(format!(
            "rustdoc writes format {format_version}, and rustdoc-types reads {FORMAT_VERSION}: \
             its version in xtask/Cargo.toml goes with the toolchain"
        ));
    }
    serde_json::from_str(&text).map_err(|error| unreadable(&error))
}
