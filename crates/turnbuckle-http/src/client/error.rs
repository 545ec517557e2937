//! Errors of HTTP clients.

use std::error::Error;

use turnbuckle_http_client::ClientError;
use turnbuckle_session::transport::LinkError;
use turnbuckle_types::base::error_chain::ErrorChain;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// The reason why a request has no response, or not all of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
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

    /// Converts an error of the default client.
    pub(crate) fn from_client(error: ClientError) -> Self {
        match error {
            ClientError::ConnectTimedOut(timeout) => Self::unreachable(format!(
                "no connection stood within {timeout:?} (HttpClientOptions::connect_timeout)"
            )),
            _ if error.is_sent() => Self::connection_lost(error.to_string()),
            _ => Self::unreachable(error.to_string()),
        }
    }

    /// Returns the error itself if it is an `HttpClientError`, else a lost connection.
    pub(crate) fn from_boxed(error: BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => *error,
            Err(error) => Self::connection_lost(ErrorChain(&*error).to_string()),
        }
    }
}

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
