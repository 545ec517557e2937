//! Errors of many servers.

use std::sync::Arc;

use crate::view::item_kind::ItemKind;

/// The reason why a request has no result.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No server has an item of this name.
    #[error("no server has the {kind} {name:?}")]
    UnknownItem {
        /// The kind of the item.
        kind: ItemKind,
        /// The name as the merged view would have it.
        name: String,
    },
    /// There is no server of this name.
    #[error("there is no server {server:?}")]
    UnknownServer {
        /// The name under which the server would have been added.
        server: String,
    },
    /// The server is not connected at the moment.
    #[error("the server {server:?} is not connected: {reason}")]
    NotReady {
        /// The server's name in the merged view.
        server: Arc<str>,
        /// The state of the server, with its last error.
        reason: String,
    },
    /// The request to the server failed.
    #[error("{server}: {error}")]
    Request {
        /// The name of the server that was asked.
        server: Arc<str>,
        /// The failure of the request.
        #[source]
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
