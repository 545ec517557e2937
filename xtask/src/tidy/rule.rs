//! Rules, their violations, and the files that they look at.

use crate::tree::Tree;

use crate::source::Source;
#[cfg(test)]
use crate::source::parse_all;

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
}

impl Project {
    /// Parses a tree; an error lists the files that do not parse.
    #[cfg(test)]
    pub(crate) fn parse(tree: Tree) -> Result<Self, String> {
        let (sources, errors) = parse_all(&tree);
        match errors.is_empty() {
            true => Ok(Self { tree, sources }),
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
