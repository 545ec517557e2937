//! The error of a test server that does not start or cannot issue a token.

/// The reason why a test server did not start or could not issue a token.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the test authorization server: {0}")]
pub struct TestServerError(String);

impl TestServerError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    pub(super) fn no_randomness() -> Self {
        Self::new("the operating system gave no randomness")
    }
}
