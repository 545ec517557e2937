//! rustdoc's JSON of the library crates.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustdoc_types::{Crate, FORMAT_VERSION};
use serde::Deserialize;

use crate::process::{self, cargo};

/// The one field that is read before the rest: the rest depends on it.
#[derive(Deserialize)]
struct Format {
    format_version: u32,
}

/// The crates by their names, documented with every feature on.
///
/// The JSON is unstable, so the pinned toolchain is told to act as a nightly one. Build scripts
/// look at that too: a target folder of its own keeps them from running anew elsewhere.
pub(super) fn build(packages: &[String]) -> Result<BTreeMap<String, Crate>, String> {
    let target = process::target().join("api");
    let mut doc = cargo(["doc", "--quiet", "--no-deps", "--lib", "--all-features"]);
    for package in packages {
        doc.args(["--package", package]);
    }
    doc.env("CARGO_TARGET_DIR", &target)
        .env("RUSTC_BOOTSTRAP", "1")
        .env(
            "RUSTDOCFLAGS",
            "-Zunstable-options --output-format=json --cap-lints=allow",
        );
    process::run(&mut doc)?;
    let mut crates = BTreeMap::new();
    for package in packages {
        let file = format!("{}.json", package.replace('-', "_"));
        crates.insert(package.clone(), read(&target.join("doc").join(file))?);
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
