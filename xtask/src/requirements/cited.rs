//! The requirements that findings cite, in a file that `turnbuckle-check` has in its program: the manifest
//! itself is four times as long, and TOML.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::manifest::Manifest;

/// The path of the file.
pub(super) const PATH: &str = "crates/turnbuckle-check/requirements/cited.tsv";

/// Returns the text of the file: a line for each requirement that a check names, with its id, level, gist
/// and places between tabs.
pub(super) fn text(manifest: &Manifest) -> String {
    let mut text = String::new();
    let cited = manifest
        .requirements
        .values()
        .filter(|it| !it.check.is_empty());
    for requirement in cited {
        let places = requirement.at.join("\t");
        let (id, level, gist) = (&requirement.id, &requirement.level, &requirement.gist);
        let _ = writeln!(text, "{id}\t{level}\t{gist}\t{places}");
    }
    text
}

/// Returns the fault of a file that is not what the manifest makes it.
pub(super) fn fault(root: &Path, manifest: &Manifest) -> Option<String> {
    let is_current = fs::read_to_string(root.join(PATH)).is_ok_and(|held| held == text(manifest));
    (!is_current).then(|| format!("{PATH} is old: run `cargo xtask requirements mark`"))
}
