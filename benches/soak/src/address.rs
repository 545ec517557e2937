//! The address of the server.

use std::net::SocketAddr;

/// The address that clients connect to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerAddress {
    pub(crate) address: SocketAddr,
}
