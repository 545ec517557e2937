//! The way in which an endpoint keeps sessions, from its settings and its server.

#[cfg(feature = "store")]
use std::sync::Arc;

#[cfg(feature = "store")]
use turnbuckle_cluster::Cluster;
use turnbuckle_session::internal::ServerEndpoint;
use turnbuckle_session::transport::Dispatch;

use super::sealed::SealedIds;
use crate::options::{HttpServerOptions, Sessions};

/// The way in which an endpoint keeps sessions.
#[derive(Debug)]
pub(crate) enum SessionMode {
    /// In its own memory.
    Local,
    /// Not at all.
    Stateless,
    /// In their ids.
    Sealed(SealedIds),
    /// In the store that all instances share.
    #[cfg(feature = "store")]
    Stored(Arc<Cluster>),
    /// Not at all: requests of sessions are refused, since the settings ask for what the server lacks.
    Unavailable(&'static str),
}

const NO_KEYS: &str = "HttpServerOptions::sessions is Sessions::Sealed, but the server has no keys that \
                       other instances have too: set ServerBuilder::keys, for example \
                       KeyRing::from_env(\"TURNBUCKLE_KEYS\")";
const NO_STORE: &str = "HttpServerOptions::sessions is Sessions::Stored, but the server has no store: set \
                        ServerBuilder::store, with the feature `store` of the crate";

impl SessionMode {
    pub(super) fn new(server: &ServerEndpoint, options: &HttpServerOptions) -> Self {
        let sessions = options
            .sessions
            .unwrap_or(match has_store(&**server.dispatch()) {
                true => Sessions::Stored,
                false => Sessions::Local,
            });
        if let Err(fault) = check_sessions(&**server.dispatch(), options) {
            return Self::Unavailable(fault);
        }
        match sessions {
            Sessions::Local => Self::Local,
            Sessions::Stateless => Self::Stateless,
            Sessions::Sealed => match server.keys() {
                Some(keys) => Self::Sealed(SealedIds::new(keys, options)),
                None => Self::Unavailable(NO_KEYS),
            },
            #[cfg(feature = "store")]
            Sessions::Stored => match server.cluster() {
                Some(cluster) => Self::Stored(cluster.clone()),
                None => Self::Unavailable(NO_STORE),
            },
            #[cfg(not(feature = "store"))]
            Sessions::Stored => Self::Unavailable(NO_STORE),
        }
    }

    /// Returns whether a client can listen on streams of a session and end it.
    pub(super) fn has_streams(&self) -> bool {
        !matches!(self, Self::Stateless | Self::Sealed(_))
    }
}

/// Checks that a server has what the way of keeping sessions needs.
///
/// # Errors
/// A sentence that names what is missing.
pub(crate) fn check_sessions(
    server: &dyn Dispatch,
    options: &HttpServerOptions,
) -> Result<(), &'static str> {
    match options.sessions {
        Some(Sessions::Sealed) if !server.has_shared_keys() => Err(NO_KEYS),
        Some(Sessions::Stored) if !has_store(server) => Err(NO_STORE),
        _ => Ok(()),
    }
}

#[cfg(feature = "store")]
fn has_store(server: &dyn Dispatch) -> bool {
    server.cluster().is_some()
}

#[cfg(not(feature = "store"))]
fn has_store(_: &dyn Dispatch) -> bool {
    false
}
