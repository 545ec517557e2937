//! The address of the client that sent a request.

use std::net::IpAddr;

/// The network address of the client that sent an HTTP request.
///
/// It stands in the extensions of requests, where layers, routes and limits for one client address read
/// it. The HTTP server puts the peer's address of the TCP connection there, if it has layers or further
/// routes. A layer that puts another value there overrides that address: the layer of a server behind a
/// proxy, which reads the address from a header that the proxy sets, or of an endpoint that is mounted
/// into another server. A request without an address, such as one over a Unix socket, counts for its
/// owner only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

impl ClientAddress {
    /// Returns the network of the address, as limits for one client address count it: an IPv4 address,
    /// or the /64 network of an IPv6 address, whose last 64 bits a client may choose as it likes.
    #[must_use]
    pub fn network(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
            address @ IpAddr::V4(_) => address,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_ipv4_address_or_a_64_of_ipv6() {
        for (address, network) in [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8:0:1:ffff::9", "2001:db8:0:1::"),
            ("2001:db8:0:2::1", "2001:db8:0:2::"),
        ] {
            let found = ClientAddress(address.parse().unwrap()).network();
            assert_eq!(found, network.parse::<IpAddr>().unwrap(), "{address}");
        }
    }
}
