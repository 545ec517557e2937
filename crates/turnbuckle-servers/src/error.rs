//! Errors of many servers.

use std::fmt;
use std::sync::Arc;

use crate::view::item_kind::ItemKind;

/// The reason why a request has no result.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// No server has an item of this name.
    UnknownItem {
        /// The kind of the item.
        kind: ItemKind,
        /// The name.
        name: String,
    },
    /// There is no server of this name.
    UnknownServer {
        /// The name.
        server: String,
    },
    /// The server is not connected at the moment.
    NotReady {
        /// The server.
        server: Arc<str>,
        /// The state of the server, with its last error.
        reason: String,
    },
    /// The request to the server failed.
    Request {
        /// The server.
        server: Arc<str>,
        /// The failure.
        error: turnbuckle_client::Error,
    },
}

impl Error {
    /// Returns the failure of the request, if a server got it.
    #[must_use]
    pub fn request_error(&self) -> Option<&turnbuckle_client::Error> {
        match self {
            Self::Request { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownItem { kind, name } => write!(f, "no server has the {kind} {name:?}"),
            Self::UnknownServer { server } => write!(f, "there is no server {server:?}"),
            Self::NotReady { server, reason } => {
                write!(f, "the server {server:?} is not connected: {reason}")
            }
            Self::Request { server, error } => write!(f, "{server}: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Request { error, .. } => Some(error),
            _ => None,
        }
    }
}
