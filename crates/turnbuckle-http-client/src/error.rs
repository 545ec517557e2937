//! Errors of requests.

use std::error::Error;
use std::time::Duration;

use turnbuckle_types::base::error_chain::ErrorChain;

/// The reason why a request has no response, or not all of one. The text holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// TLS cannot be used with the settings and the certificates of the system. Nothing was sent.
    #[error("TLS cannot be used: {0}")]
    Tls(String),
    /// The URL of the request is no absolute URL of HTTP. Nothing was sent.
    #[error("this is no URL of HTTP")]
    InvalidUrl,
    /// No connection was opened within the timeout for that. Nothing was sent.
    #[error("no connection stood within {0:?}")]
    ConnectTimedOut(Duration),
    /// No connection could be opened. Nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// The connection was lost: the server may have acted upon the request.
    #[error("{0}")]
    ConnectionLost(String),
    /// The body of the response is longer than the caller reads.
    #[error("the answer is longer than {0} bytes")]
    BodyTooLarge(usize),
}

impl ClientError {
    /// Returns whether the server may have acted upon the request.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        matches!(self, Self::ConnectionLost(_) | Self::BodyTooLarge(_))
    }

    pub(crate) fn unreachable(error: &(dyn Error + 'static)) -> Self {
        Self::Unreachable(ErrorChain(error).to_string())
    }

    pub(crate) fn connection_lost(error: &hyper::Error) -> Self {
        Self::ConnectionLost(ErrorChain(error).to_string())
    }
}
