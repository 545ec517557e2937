//! The error of a test server that does not start or cannot issue a token.

use std::fmt;

/// The reason why a test server did not start or could not issue a token.
#[derive(Debug, Clone)]
pub struct TestServerError {
    message: String,
}

impl TestServerError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }

    pub(super) fn no_randomness() -> Self {
        Self::new("the operating system gave no randomness")
    }
}

impl fmt::Display for TestServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the test authorization server: {}", self.message)
    }
}

impl std::error::Error for TestServerError {}
