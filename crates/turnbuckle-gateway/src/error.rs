//! The error of a gateway.

/// A file that cannot be read, or a gateway that cannot be built. The text says what, where and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GatewayError(String);

impl GatewayError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// Adds the name of the upstream that the error is about.
    pub(crate) fn in_upstream(self, upstream: &str) -> Self {
        Self(format!("the upstream {upstream:?}: {}", self.0))
    }
}
