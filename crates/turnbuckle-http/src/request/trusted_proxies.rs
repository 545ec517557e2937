//! The proxies whose headers name the client of a request: `X-Forwarded-For`, and `Forwarded` of RFC 7239.
//!
//! A proxy appends the address of its own client to what that client sent. So a header is read from its
//! end, and no further than the first address that is not one of a trusted proxy: everything before it
//! was written by the client.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::header::{FORWARDED, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use turnbuckle_types::ClientAddress;

use crate::options::HttpServerOptions;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The entry of the settings that stands for the peers of a Unix socket.
const UNIX: &str = "unix:";

/// The largest number of proxies that one request is followed through.
const MAX_PROXIES: usize = 16;

/// The proxies that an endpoint trusts.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrustedProxies {
    networks: Vec<Network>,
    /// True if the peers of a Unix socket are trusted.
    unix: bool,
}

/// A header that names no address, or too many.
struct Malformed;

impl TrustedProxies {
    pub(crate) fn new(options: &HttpServerOptions) -> Self {
        let entries = options.trusted_proxies.iter().map(|entry| entry.trim());
        let (unix, networks): (Vec<_>, Vec<_>) = entries.partition(|entry| *entry == UNIX);
        Self {
            networks: networks.into_iter().filter_map(Network::parse).collect(),
            unix: !unix.is_empty(),
        }
    }

    /// Puts the address of the client into the extensions of a request to a mounted endpoint, if the
    /// address in them is that of a trusted proxy.
    pub(crate) fn show_client(&self, parts: &mut Parts) {
        if self.networks.is_empty() {
            return;
        }
        let peer = parts.extensions.get::<ClientAddress>();
        let client = peer.and_then(|peer| self.find_client(Some(peer.0), &parts.headers));
        if let Some(client) = client {
            parts.extensions.insert(client);
        }
    }

    /// Returns the address that a trusted proxy names as that of the client. `peer` is the address of the
    /// connection, or `None` for a Unix socket.
    ///
    /// A header without a sound end names nobody, and so do two headers that differ: a proxy that writes one
    /// of them lets its client write the other.
    pub(crate) fn find_client(
        &self,
        peer: Option<IpAddr>,
        headers: &HeaderMap,
    ) -> Option<ClientAddress> {
        if !peer.map_or(self.unix, |peer| self.is_trusted(peer)) {
            return None;
        }
        let values = |name| headers.get_all(name).iter();
        let legacy = self.follow(values(X_FORWARDED_FOR), parse_node);
        let standard = self.follow(values(FORWARDED), parse_element);
        let client = match (legacy.ok()?, standard.ok()?) {
            (Some(legacy), Some(standard)) => (legacy == standard).then_some(legacy)?,
            (legacy, standard) => legacy.or(standard)?,
        };
        Some(ClientAddress(client))
    }

    /// Follows a request from one proxy to the one before it, from the end of a header. Returns the first
    /// address that is no trusted proxy, else that of the first proxy, or `None` without the header.
    fn follow<'h>(
        &self,
        values: impl DoubleEndedIterator<Item = &'h HeaderValue>,
        parse: fn(&str) -> Option<IpAddr>,
    ) -> Result<Option<IpAddr>, Malformed> {
        let elements = values.rev();
        let elements = elements.flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b','));
        let mut client = None;
        for (hop, element) in elements.enumerate() {
            let element = std::str::from_utf8(element).map_err(|_| Malformed)?;
            let address = parse(element.trim_ascii()).filter(|_| hop < MAX_PROXIES);
            let address = address.ok_or(Malformed)?.to_canonical();
            client = Some(address);
            if !self.is_trusted(address) {
                break;
            }
        }
        Ok(client)
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        self.networks
            .iter()
            .any(|network| network.contains(address))
    }
}

/// A network of addresses. An IPv4 address is read as the IPv6 address that it is mapped to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    first: u128,
    /// The number of bits at the end in which the addresses of the network differ.
    free_bits: u32,
}

impl Network {
    /// Parses a network of the settings. An invalid one is logged and trusts nobody.
    fn parse(text: &str) -> Option<Self> {
        let parsed = Self::parse_cidr(text);
        if parsed.is_none() {
            tracing::warn!(
                network = text,
                "invalid network in HttpServerOptions::trusted_proxies: it trusts nobody; expected an \
                 address, an address and the length of a prefix (10.0.0.0/8), or unix:"
            );
        }
        parsed
    }

    fn parse_cidr(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let bits = if address.is_ipv4() { 32 } else { u128::BITS };
        let prefix = prefix.map_or(Some(bits), |prefix| prefix.parse().ok())?;
        Some(Self {
            first: mapped_bits(address),
            free_bits: bits.checked_sub(prefix)?,
        })
    }

    fn contains(self, address: IpAddr) -> bool {
        let difference = self.first ^ mapped_bits(address);
        difference.checked_shr(self.free_bits).unwrap_or(0) == 0
    }
}

fn mapped_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Parses the address of a node: with or without a port, and one of IPv6 with or without brackets.
fn parse_node(node: &str) -> Option<IpAddr> {
    let bracketed = || node.strip_prefix('[')?.strip_suffix(']');
    let address = node.parse::<IpAddr>().ok();
    address
        .or_else(|| node.parse().ok().map(|address: SocketAddr| address.ip()))
        .or_else(|| bracketed()?.parse().ok().map(|it: Ipv6Addr| it.into()))
}

/// Parses the address in one element of `Forwarded`, in which every parameter has to be sound: a quoted text
/// of a parameter may hold what the client wrote, and the comma in it begins no element.
fn parse_element(element: &str) -> Option<IpAddr> {
    let mut client = None;
    for parameter in element.split(';') {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim_ascii();
        let value = match value.strip_prefix('"') {
            Some(quoted) => quoted.strip_suffix('"')?,
            None => value,
        };
        if value.contains(['"', '\\']) {
            return None;
        }
        if name.trim_ascii().eq_ignore_ascii_case("for")
            && client.replace(parse_node(value)?).is_some()
        {
            return None;
        }
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(entries: &[&str]) -> TrustedProxies {
        TrustedProxies::new(&HttpServerOptions::new().trusted_proxies(entries.iter().copied()))
    }

    /// Returns the client of a request from `peer` with these headers.
    fn client(proxies: &TrustedProxies, peer: &str, headers: &[(&str, &str)]) -> Option<String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            map.append(name, value.parse().unwrap());
        }
        let peer = (peer != UNIX).then(|| peer.parse().unwrap());
        let client = proxies.find_client(peer, &map);
        client.map(|client| client.0.to_string())
    }

    #[test]
    fn a_chain_is_believed_from_its_end_up_to_the_first_stranger() {
        let trusted = proxies(&["10.0.0.0/8", "2001:db8:1::/48", "192.0.2.7"]);
        for (chain, expected) in [
            ("198.51.100.1", Some("198.51.100.1")),
            // Everything before the address that the proxy appended was written by the client.
            ("10.0.0.9, 198.51.100.1", Some("198.51.100.1")),
            ("127.0.0.1,::1,198.51.100.1", Some("198.51.100.1")),
            ("garbage, \", 198.51.100.1", Some("198.51.100.1")),
            ("203.0.113.5, 198.51.100.1, 10.1.2.3", Some("198.51.100.1")),
            (
                "198.51.100.1,192.0.2.7,2001:db8:1:2::3",
                Some("198.51.100.1"),
            ),
            // A client in the network of the proxies.
            ("10.0.0.9", Some("10.0.0.9")),
            ("10.0.0.8, 10.0.0.9", Some("10.0.0.8")),
            ("198.51.100.1:4711", Some("198.51.100.1")),
            ("[2001:db8::17]:4711", Some("2001:db8::17")),
            ("[2001:db8::17]", Some("2001:db8::17")),
            ("2001:db8::17", Some("2001:db8::17")),
            ("::ffff:198.51.100.1", Some("198.51.100.1")),
            ("198.51.100.1, ::ffff:10.0.0.9", Some("198.51.100.1")),
            ("", None),
            ("198.51.100.1,", None),
            ("198.51.100.1, unknown", None),
            ("198.51.100.1, garbage, 10.0.0.9", None),
            ("198.51.100.1 10.0.0.9", None),
            ("198.51.100.256", None),
            ("0198.51.100.1", None),
            ("fe80::1%eth0", None),
            ("\"198.51.100.1\"", None),
            ("for=198.51.100.1", None),
        ] {
            for peer in ["10.0.0.1", "::ffff:10.0.0.1"] {
                let found = client(&trusted, peer, &[("x-forwarded-for", chain)]);
                assert_eq!(found.as_deref(), expected, "{chain}");
            }
        }
        let lines = [
            ("x-forwarded-for", "203.0.113.5"),
            ("x-forwarded-for", "198.51.100.1"),
        ];
        let found = client(&trusted, "10.0.0.1", &lines);
        assert_eq!(found.as_deref(), Some("198.51.100.1"), "of the last line");
    }

    #[test]
    fn an_element_of_forwarded_has_one_address_and_sound_parameters() {
        let trusted = proxies(&["10.0.0.1"]);
        for (value, expected) in [
            ("for=198.51.100.1", Some("198.51.100.1")),
            ("For=\"198.51.100.1:80\";proto=https", Some("198.51.100.1")),
            (
                "by=10.0.0.1; for = \"[2001:db8::17]:4711\" ;host=a.example",
                Some("2001:db8::17"),
            ),
            ("for=203.0.113.5, for=198.51.100.1", Some("198.51.100.1")),
            ("for=\"203.0.113.5, for=198.51.100.1", Some("198.51.100.1")),
            ("for=198.51.100.1, for=10.0.0.1", Some("198.51.100.1")),
            ("198.51.100.1", None),
            ("proto=https", None),
            ("for=unknown", None),
            ("for=_hidden", None),
            ("for=", None),
            ("for=\"198.51.100.1", None),
            ("for=198.51.100.1\"", None),
            ("for=198.51.100.1;for=203.0.113.5", None),
            ("for=198.51.100.1;", None),
            // The host was written by the client.
            ("for=198.51.100.1;host=\"a, for=203.0.113.5\"", None),
            ("for=198.51.100.1;host=\"a, for=203.0.113.5;b=\"", None),
            ("for=198.51.100.1;host=\"a, for=203.0.113.5;b=\\\"\"", None),
            ("for=198.51.100.1;host=\"a;for=203.0.113.5;b=c\"", None),
        ] {
            let found = client(&trusted, "10.0.0.1", &[("forwarded", value)]);
            assert_eq!(found.as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn two_headers_that_differ_name_nobody() {
        let trusted = proxies(&["10.0.0.1"]);
        for (legacy, standard, expected) in [
            ("198.51.100.1", "for=198.51.100.1", Some("198.51.100.1")),
            ("198.51.100.1", "for=203.0.113.5", None),
            ("198.51.100.1", "garbage", None),
            ("garbage", "for=198.51.100.1", None),
        ] {
            let headers = [("x-forwarded-for", legacy), ("forwarded", standard)];
            let found = client(&trusted, "10.0.0.1", &headers);
            assert_eq!(found.as_deref(), expected, "{legacy} {standard}");
        }
    }

    #[test]
    fn only_trusted_peers_are_believed() {
        let chain = [("x-forwarded-for", "198.51.100.1")];
        let expected = Some("198.51.100.1".to_owned());
        for (entries, peer, is_believed) in [
            (&[][..], "127.0.0.1", false),
            (&[], UNIX, false),
            (&["10.0.0.0/8"], "11.0.0.1", false),
            (&["10.0.0.0/8"], "9.255.255.255", false),
            (&["10.0.0.0/8"], "10.255.255.255", true),
            (&["10.0.0.0/8"], UNIX, false),
            (&["unix:"], UNIX, true),
            (&["unix:"], "127.0.0.1", false),
            (&["0.0.0.0/0"], "192.0.2.1", true),
            (&["0.0.0.0/0"], "2001:db8::1", false),
            (&["::/0"], "2001:db8::1", true),
            (&["2001:db8::/127"], "2001:db8::1", true),
            (&["2001:db8::/127"], "2001:db8::2", false),
            (&["::ffff:10.0.0.1"], "10.0.0.1", true),
            // Invalid ones trust nobody.
            (
                &["10.0.0.0/33", "::/129", "10.0.0.0/", "/8"],
                "10.0.0.1",
                false,
            ),
            (
                &["10.0.0.0/-1", "proxy.example", "", "*"],
                "10.0.0.1",
                false,
            ),
        ] {
            let found = client(&proxies(entries), peer, &chain);
            let expected = expected.clone().filter(|_| is_believed);
            assert_eq!(found, expected, "{entries:?} {peer}");
        }
    }

    #[test]
    fn a_chain_has_so_many_proxies() {
        let trusted = proxies(&["10.0.0.0/8"]);
        let chain = |proxies: usize| format!("198.51.100.1{}", ",10.0.0.1".repeat(proxies));
        for (count, expected) in [(MAX_PROXIES - 1, Some("198.51.100.1")), (MAX_PROXIES, None)] {
            let chain = chain(count);
            let found = client(&trusted, "10.0.0.1", &[("x-forwarded-for", &chain)]);
            assert_eq!(found.as_deref(), expected, "{count}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_client_writes_nothing_that_is_believed(
            written in "[ -~]{0,60}",
            is_standard: bool,
        ) {
            let trusted = proxies(&["10.0.0.1"]);
            let (name, appended) = match is_standard {
                true => ("forwarded", "for=198.51.100.1"),
                false => ("x-forwarded-for", "198.51.100.1"),
            };
            let value = format!("{written}, {appended}");
            let found = client(&trusted, "10.0.0.1", &[(name, value.trim())]);
            assert_eq!(found.as_deref(), Some("198.51.100.1"));
        }
    }
}
