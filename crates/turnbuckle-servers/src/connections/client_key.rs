//! Keys of the proxy's clients: whom requests count for, and which requests have the same sender.

use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use turnbuckle_server::HandlerContext;
use turnbuckle_session::internal::DuplexConnection;
use turnbuckle_types::ClientAddress;

/// A client, as shares count it: whoever sends requests over any number of connections has one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ClientKey {
    /// A keyed hash of the identity of a principal.
    Principal(u64),
    /// An IPv4 address, or the /64 network of an IPv6 address.
    Address(IpAddr),
    /// A legacy session without a principal and an address.
    Session(u64),
    /// All requests without any of these, such as those of one pipe.
    Unknown,
}

/// The owner of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// The address of a legacy session, which no other has while its slot is there.
    Session(usize),
    Client(ClientKey),
}

/// The owner of a connection and its settings: requests with the same ones share it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ConnectionKey {
    pub(super) owner: Owner,
    /// The client whose share the connection counts for.
    pub(super) client: ClientKey,
    /// The settings of the connector, which depend on the client.
    pub(super) settings: Arc<str>,
}

/// Makes the keys of clients.
#[derive(Default)]
pub(crate) struct ClientKeys {
    hasher: RandomState,
    /// For numbers that nobody outside of this process chooses.
    number_hasher: foldhash::quality::RandomState,
    last_request: AtomicU64,
}

impl ClientKeys {
    /// Returns the key that a request counts for.
    pub(crate) fn key(&self, context: &HandlerContext) -> ClientKey {
        if let Some(principal) = self.principal(context) {
            return ClientKey::Principal(principal);
        }
        match (context.client_address(), context.session_change_feed()) {
            (Some(address), _) => ClientKey::Address(ClientAddress(address).network()),
            (None, Some(session)) => ClientKey::Session(Arc::as_ptr(session).addr() as u64),
            (None, None) => ClientKey::Unknown,
        }
    }

    /// Returns a number that requests of the same principal have in common; `None` without a principal.
    pub(crate) fn principal(&self, context: &HandlerContext) -> Option<u64> {
        let principal = context.principal()?;
        Some(self.hasher.hash_one(principal.identity()))
    }

    /// Returns a number that requests of the same session have in common. A request of the modern era
    /// belongs to no session, and has a number of its own.
    pub(crate) fn sender(&self, context: &HandlerContext) -> u64 {
        let (session, request) = match context.session_change_feed() {
            Some(session) => (Some(Arc::as_ptr(session).addr()), 0),
            None => (None, self.last_request.fetch_add(1, Ordering::Relaxed)),
        };
        self.number_hasher.hash_one((session, request))
    }

    /// Returns a number that requests of the same duplex connection have in common, such as those of a pipe.
    pub(crate) fn connection(&self, connection: &DuplexConnection) -> u64 {
        self.number_hasher.hash_one(connection.number())
    }
}
