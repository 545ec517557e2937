//! The project's files in memory; a test makes a small tree of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Names of folders whose files a tool writes.
const GENERATED: &[&str] = &[
    "node_modules",
    "artifacts",
    "corpus",
    "coverage",
    "results",
    ".git",
    ".cache",
];

/// Returns whether a tool writes the files of a folder, which `parent` contains. A module may be called
/// `target`; the folder of that name into which cargo builds stands beside a manifest.
pub(crate) fn is_generated(parent: &Path, name: &str) -> bool {
    match name {
        "target" => parent.join("Cargo.toml").is_file(),
        _ => GENERATED.contains(&name) || name.starts_with("target-"),
    }
}

/// The largest file that is read as text, in bytes.
const MAX_TEXT_BYTES: u64 = 4 << 20;

/// Files by their path from the root, with `/` between the parts.
#[derive(Default)]
pub(crate) struct Tree {
    texts: BTreeMap<String, String>,
    others: BTreeSet<String>,
}

impl Tree {
    /// Reads the project at `root`.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    /// Creates a tree of paths and texts.
    #[cfg(test)]
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let texts = files
            .iter()
            .map(|&(path, text)| (path.to_owned(), text.to_owned()))
            .collect();
        Self {
            texts,
            others: BTreeSet::new(),
        }
    }

    /// Returns every text file whose path ends in `ending`, as (path, text), in order.
    pub(crate) fn texts<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let texts = self
            .texts
            .iter()
            .filter(move |(path, _)| path.ends_with(ending));
        texts.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns the text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Returns whether a file or a folder is at `path`; the root is the empty path.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        let mut paths = self.texts.keys().chain(&self.others);
        path.is_empty() || paths.any(|held| held == path || held.starts_with(&inside))
    }

    /// Adds the files of `folder`, with `prefix` before their paths.
    pub(crate) fn read_folder(&mut self, folder: &Path, prefix: &str) -> Result<(), String> {
        let unreadable = |error| format!("cannot read {}: {error}", folder.display());
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type().map_err(unreadable)?;
            if is_generated(folder, &name) {
                continue;
            }
            if kind.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() {
                self.read_file(&entry.path(), path)?;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, file: &Path, path: String) -> Result<(), String> {
        let unreadable = |error| format!("cannot read {}: {error}", file.display());
        if fs::metadata(file).map_err(unreadable)?.len() > MAX_TEXT_BYTES {
            self.others.insert(path);
            return Ok(());
        }
        match String::from_utf8(fs::read(file).map_err(unreadable)?) {
            Ok(text) => drop(self.texts.insert(path, text)),
            Err(_) => drop(self.others.insert(path)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::root;

    #[test]
    fn a_module_that_is_called_target_is_source() {
        assert!(is_generated(&root(), "target"));
        assert!(is_generated(&root(), "target-mutants"));
        assert!(is_generated(&root().join("fuzz"), "corpus"));
        let source = root().join("crates/turnbuckle-check/src");
        assert!(!is_generated(&source, "target"));
    }
}
