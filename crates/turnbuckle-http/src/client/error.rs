//! Errors of HTTP clients.

use std::error::Error;
use std::fmt;

use turnbuckle_session::transport::LinkError;
use turnbuckle_types::base::error_chain::ErrorChain;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// The reason why a request has no response, or not all of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpClientError {
    sent: bool,
    reason: String,
}

impl HttpClientError {
    /// Creates the error of a server that cannot be reached: nothing of the request was sent. The
    /// reason is shown to people and must hold no secret.
    #[must_use]
    pub fn unreachable(reason: impl Into<String>) -> Self {
        Self {
            sent: false,
            reason: reason.into(),
        }
    }

    /// Creates the error of a connection that was lost: the server may have acted upon the request.
    /// The reason is shown to people and must hold no secret.
    #[must_use]
    pub fn connection_lost(reason: impl Into<String>) -> Self {
        Self {
            sent: true,
            reason: reason.into(),
        }
    }

    /// Returns the error itself if it is an `HttpClientError`, else a lost connection.
    pub(crate) fn from_boxed(error: BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => *error,
            Err(error) => Self::connection_lost(error_chain(&*error)),
        }
    }
}

impl fmt::Display for HttpClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl Error for HttpClientError {}

impl From<HttpClientError> for LinkError {
    fn from(error: HttpClientError) -> Self {
        let HttpClientError { sent, reason } = error;
        if sent {
            Self::ConnectionLost { reason }
        } else {
            Self::Unreachable { reason }
        }
    }
}

/// Returns an error and its sources in one line.
pub(crate) fn error_chain(error: &(dyn Error + 'static)) -> String {
    ErrorChain(error).to_string()
}
