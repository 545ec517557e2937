//! The error of a test server.

use turnbuckle_types::base::random::RandomnessUnavailable;

use super::answer::Refusal;

/// The reason why a test server did not start or could not issue a token.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the test authorization server: {0}")]
pub struct TestServerError(String);

impl TestServerError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<RandomnessUnavailable> for TestServerError {
    fn from(error: RandomnessUnavailable) -> Self {
        Self::new(error.to_string())
    }
}

impl From<Refusal> for TestServerError {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.description)
    }
}
