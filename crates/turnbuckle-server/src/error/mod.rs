//! Errors of building a server, and failures of handlers.

pub(crate) mod chain;
pub(crate) mod failure;
pub(crate) mod into_failure;

use std::fmt;

/// A mistake in a server's definition, found when the server is built or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError(String);

impl BuildError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildError {}
