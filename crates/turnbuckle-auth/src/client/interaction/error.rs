//! The error of a login's user interface.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// An error of a login's user interface. `Display` says what failed and what to do.
///
/// The text never holds the redirect's query.
#[derive(Debug, Clone)]
pub struct LoginUiError {
    kind: LoginUiErrorKind,
    message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kind of a [`LoginUiError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LoginUiErrorKind {
    /// A login is required, and there is nobody to log in.
    LoginRequired,
    /// The user gave up.
    Cancelled,
    /// The redirect did not come in time.
    TimedOut,
    /// The authorization URL is not one to open in a browser.
    UrlRefused,
    /// The redirect cannot be received: no port is free, or too many requests came that were none.
    Unavailable,
}

impl LoginUiError {
    /// Creates an error. The message must not contain the redirect's query.
    #[must_use]
    pub fn new(kind: LoginUiErrorKind, message: impl Into<String>) -> Self {
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
    pub fn kind(&self) -> LoginUiErrorKind {
        self.kind
    }
}

impl fmt::Display for LoginUiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("login: ")?;
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl Error for LoginUiError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
