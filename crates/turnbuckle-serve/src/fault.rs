//! Errors of tools, which the model reads.

use std::io;

use turnbuckle::prelude::*;

/// An error that is meant for the model, also where a server masks errors.
#[derive(Debug, IntoFailure, thiserror::Error)]
#[failure(model)]
#[error("{0}")]
pub(crate) struct Fault(String);

/// The result of an operation.
pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

impl Fault {
    /// Creates an error of a text that says what to do.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Fault {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}
