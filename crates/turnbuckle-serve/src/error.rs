//! The error of a server that cannot be made.

/// The reason why a server cannot be made of its options, such as a folder that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Creates an error of a text that says what to do.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl From<turnbuckle::BuildError> for Error {
    fn from(error: turnbuckle::BuildError) -> Self {
        Self::new(error.to_string()).with_source(error)
    }
}
