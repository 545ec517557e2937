//! The error of a credential store.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// An error of a credential store. `Display` says what failed and what to do.
///
/// The text never holds a value of the store; it can hold a key or a path.
#[derive(Debug, Clone)]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kind of a [`StoreError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store cannot be reached, read or written.
    Unavailable,
    /// Other users own the store or can read it.
    Insecure,
    /// A value is damaged.
    Corrupt,
    /// A value is too large, or there are too many.
    TooLarge,
    /// A key is empty or too long.
    InvalidKey,
    /// Another caller held the lock for too long.
    LockTimedOut,
}

impl StoreError {
    /// Creates an error. The message must not contain a value of the store.
    #[must_use]
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// Sets the error's cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("credential store: ")?;
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
