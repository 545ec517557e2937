//! Rules, their violations, and the files that they look at.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::imports::{self, Imports};
use crate::requirements;
use crate::source::Source;
#[cfg(test)]
use crate::source::parse_all;
use crate::tree::Tree;

/// One rule.
pub(super) struct Rule {
    pub(super) name: &'static str,
    /// Why it holds and how a violation is mended, in one sentence.
    pub(super) reason: &'static str,
    pub(super) check: fn(&Project) -> Vec<Violation>,
}

/// The project's files, and the Rust files among them parsed.
pub(crate) struct Project {
    pub(crate) tree: Tree,
    pub(crate) sources: Vec<Source>,
    // Several rules ask for these, and each takes seconds.
    crates: OnceCell<Vec<(String, OwnedImports)>>,
    test_paths: OnceCell<BTreeSet<String>>,
}

/// The files that each file of a crate imports.
type OwnedImports = BTreeMap<String, BTreeSet<String>>;

impl Project {
    pub(crate) fn new(tree: Tree, sources: Vec<Source>) -> Self {
        Self {
            tree,
            sources,
            crates: OnceCell::new(),
            test_paths: OnceCell::new(),
        }
    }

    /// Returns each crate, as its package and the imports of its files.
    pub(super) fn crates(&self) -> impl Iterator<Item = (&str, Imports<'_>)> {
        let read = || {
            let crates = imports::crates(&self.sources).into_iter();
            let owned = |imports: Imports<'_>| {
                let files = imports.into_iter();
                let files = files.map(|(file, others)| (file.to_owned(), others));
                files
                    .map(|(file, others)| (file, others.into_iter().map(str::to_owned).collect()))
                    .collect()
            };
            crates
                .map(|(package, imports)| (package.to_owned(), owned(imports)))
                .collect()
        };
        let crates: &Vec<(String, OwnedImports)> = self.crates.get_or_init(read);
        crates.iter().map(|(package, imports)| {
            let files = imports.iter();
            let files = files.map(|(file, others)| {
                let others = others.iter().map(String::as_str);
                (file.as_str(), others.collect())
            });
            (package.as_str(), files.collect())
        })
    }

    /// Returns the paths of all tests that requirements and mutations may name.
    pub(crate) fn test_paths(&self) -> &BTreeSet<String> {
        self.test_paths
            .get_or_init(|| requirements::test_paths(&self.tree))
    }

    /// Parses a tree; an error lists the files that do not parse.
    #[cfg(test)]
    pub(crate) fn parse(tree: Tree) -> Result<Self, String> {
        let (sources, errors) = parse_all(&tree);
        match errors.is_empty() {
            true => Ok(Self::new(tree, sources)),
            false => Err(errors.join("\n")),
        }
    }

    /// Returns the sources that are compiled into the crates, without tests.
    pub(super) fn production(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| source.is_production())
    }
}

/// One place where a rule is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) path: String,
    /// Counted from 1; 0 for the whole file.
    pub(super) line: usize,
    pub(super) what: String,
}

impl Violation {
    /// Creates a violation of a file as a whole.
    pub(super) fn file(path: &str, what: impl Into<String>) -> Self {
        Self::new(path, 0, what)
    }

    pub(super) fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}
