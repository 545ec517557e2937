//! Glob patterns of search and exclusion.

use globset::{GlobBuilder, GlobMatcher};

use crate::fault::{Fault, Result};

/// The longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1_024;

/// The patterns of one call.
const MAX_PATTERNS: usize = 64;

/// Reads a pattern: `*` and `?` match inside of a name, `**` matches any directories.
pub(super) fn parse(pattern: &str) -> Result<GlobMatcher> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(Fault::new(format!(
            "a pattern has at most {MAX_PATTERN_BYTES} bytes"
        )));
    }
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let glob = glob.map_err(|error| Fault::new(format!("the pattern {pattern:?}: {error}")))?;
    Ok(glob.compile_matcher())
}

/// Patterns of paths that are left out.
pub(super) struct Excluded(Vec<GlobMatcher>);

impl Excluded {
    /// Reads patterns that match whole paths.
    pub(super) fn paths(patterns: &[String]) -> Result<Self> {
        Self::parse_all(patterns.len(), patterns.iter().cloned())
    }

    /// Reads patterns of which those without `*` also match names further down, and all below them.
    pub(super) fn names(patterns: &[String]) -> Result<Self> {
        let forms = patterns.iter().flat_map(|pattern| {
            let further = [format!("**/{pattern}"), format!("**/{pattern}/**")];
            let further = further.into_iter().filter(|_| !pattern.contains('*'));
            std::iter::once(pattern.clone()).chain(further)
        });
        Self::parse_all(patterns.len(), forms)
    }

    fn parse_all(count: usize, patterns: impl Iterator<Item = String>) -> Result<Self> {
        if count > MAX_PATTERNS {
            return Err(Fault::new(format!(
                "there may be {MAX_PATTERNS} excludePatterns"
            )));
        }
        let parsed = patterns
            .map(|pattern| parse(&pattern))
            .collect::<Result<_>>()?;
        Ok(Self(parsed))
    }

    /// Returns true if a path is left out.
    pub(super) fn has(&self, path: &str) -> bool {
        self.0.iter().any(|pattern| pattern.is_match(path))
    }
}
