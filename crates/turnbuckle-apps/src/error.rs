//! The error of an invalid page.

use std::fmt;

/// The reason why a page is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PageError(String);

impl PageError {
    pub(crate) fn new(uri: &str, reason: impl fmt::Display) -> Self {
        Self(format!("page {uri:?}: {reason}"))
    }
}
