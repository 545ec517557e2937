//! The address at the other end of a client's connection.

use std::net::IpAddr;

/// The address of the server that a response came from.
///
/// The HTTP client puts it into the extensions of responses with 401 and 403 whose connection it
/// opened itself. A layer decides from it which addresses the server may name: another lookup of
/// the server's name may give another address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress(IpAddr);

impl PeerAddress {
    /// Wraps the address of a connection.
    #[must_use]
    pub fn new(address: IpAddr) -> Self {
        Self(address)
    }

    /// Returns the address.
    #[must_use]
    pub fn ip(self) -> IpAddr {
        self.0
    }
}
