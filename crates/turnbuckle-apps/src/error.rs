//! The error of an invalid page.

use std::fmt;

/// The reason why a page is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageError(String);

impl PageError {
    pub(crate) fn new(uri: &str, reason: impl fmt::Display) -> Self {
        Self(format!("page {uri:?}: {reason}"))
    }
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PageError {}
