//! Classes of IP addresses: how far from the public internet an address is, and names of local networks.
//!
//! The ranges are those of the IANA registries of special-purpose addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The reach of an address. The order goes from the closest network to the most public.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressClass {
    /// This machine: 127.0.0.0/8 and ::1.
    Loopback,
    /// A network that is not part of the internet, for instance 10.0.0.0/8 and fc00::/7.
    Private,
    /// The internet.
    Public,
}

/// Returns the class of an address, or `None` for an address that no URL from the wire may name:
/// unspecified, link-local, multicast, reserved, or a cloud's metadata service.
///
/// An IPv6 address that embeds an IPv4 address has the class of the latter.
#[must_use]
pub fn classify(address: IpAddr) -> Option<AddressClass> {
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

/// The names of top-level domains, and of one domain below `arpa`, that are of local networks: reserved for them, or
/// used by them (RFC 6762, appendix G; RFC 8375; `internal` is reserved by ICANN).
const LOCAL_DOMAINS: [&str; 12] = [
    "corp",
    "home",
    "home.arpa",
    "internal",
    "intranet",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "private",
    "svc",
    "workgroup",
];

/// Returns whether a host name is of a local network, whatever its address: a name without a dot, or one below a
/// domain for local networks, such as `internal`. The dot that ends a full name does not count.
#[must_use]
pub fn is_local_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let is_below = |domain: &&str| {
        let above = name.strip_suffix(*domain);
        above.is_some_and(|above| above.ends_with('.'))
    };
    !name.contains('.') || LOCAL_DOMAINS.iter().any(is_below)
}

fn classify_v4(address: Ipv4Addr) -> Option<AddressClass> {
    use AddressClass::{Loopback, Private, Public};
    match address.octets() {
        [127, ..] => Some(Loopback),
        // The metadata services of Alibaba Cloud and Azure, which are not in a link-local range.
        [100, 100, 100, 200] | [168, 63, 129, 16] => None,
        [10, ..] | [192, 168, ..] => Some(Private),
        [172, second, ..] if second & 0xf0 == 16 => Some(Private),
        // Carrier-grade NAT.
        [100, second, ..] if second & 0xc0 == 64 => Some(Private),
        // Benchmarks. Some VPNs answer every DNS query with such an address.
        [198, 18 | 19, ..] => Some(Private),
        [0, ..] | [169, 254, ..] | [224..=255, ..] => None,
        // Protocol assignments, documentation, and relays of 6to4.
        [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] => None,
        _ => Some(Public),
    }
}

fn classify_v6(address: Ipv6Addr) -> Option<AddressClass> {
    use AddressClass::{Loopback, Private, Public};
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        classify_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 1] => Some(Loopback),
        // IPv4-mapped: the system connects to the IPv4 address.
        [0, 0, 0, 0, 0, 0xffff, high, low] => embedded(high, low),
        // NAT64 and 6to4: a gateway connects to the IPv4 address, so only public ones make sense.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            embedded(high, low).filter(|class| *class == Public)
        }
        // NAT64 with the prefix of a local network.
        [0x64, 0xff9b, 1, .., high, low] => embedded(high, low).map(|_| Private),
        // The metadata services of AWS and Google Cloud.
        [0xfd00, 0xec2, ..] | [0xfd20, 0xce, ..] => None,
        [0xfc00..=0xfdff, ..] => Some(Private),
        // Protocol assignments with Teredo, and documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => None,
        [0x2000..=0x3fff, ..] => Some(Public),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(address: &str) -> Option<AddressClass> {
        classify(address.parse().unwrap())
    }

    #[test]
    fn names_of_local_networks_are_known() {
        for name in [
            "intranet",
            "intranet.",
            "metadata.google.internal",
            "Printer.LOCAL.",
            "a.localhost",
            "nas.home.arpa",
            "git.corp",
            "kubernetes.default.svc",
        ] {
            assert!(is_local_name(name), "{name}");
        }
        for name in [
            "example.com",
            "local.example.com",
            "notlocal.com",
            "a.xinternal",
            "arpa.example.",
        ] {
            assert!(!is_local_name(name), "{name}");
        }
    }

    // requirement: 31211e65db5c 428746a79db9 a6409c59a473
    #[test]
    fn ipv4_ranges_have_their_classes() {
        for address in ["127.0.0.1", "127.255.255.254"] {
            assert_eq!(class(address), Some(AddressClass::Loopback), "{address}");
        }
        for address in [
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "198.18.0.9",
        ] {
            assert_eq!(class(address), Some(AddressClass::Private), "{address}");
        }
        for address in [
            "1.1.1.1",
            "93.184.216.34",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "169.253.0.1",
            "223.255.255.1",
        ] {
            assert_eq!(class(address), Some(AddressClass::Public), "{address}");
        }
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.0.1",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "203.0.113.5",
        ] {
            assert_eq!(class(address), None, "{address}");
        }
    }

    // requirement: 141cb5be32f0 428746a79db9
    #[test]
    fn ipv6_ranges_have_their_classes() {
        assert_eq!(class("::1"), Some(AddressClass::Loopback));
        for address in ["fd12:3456::1", "fc00::1"] {
            assert_eq!(class(address), Some(AddressClass::Private), "{address}");
        }
        for address in ["2606:4700::1111", "2a00:1450::1", "2001:4860::8888"] {
            assert_eq!(class(address), Some(AddressClass::Public), "{address}");
        }
        for address in [
            "::",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "2001:db8::1",
            "2001::1",
            "100::1",
            "::2",
            "::ffff:0:7f00:1",
            "4000::1",
        ] {
            assert_eq!(class(address), None, "{address}");
        }
    }

    #[test]
    fn ipv4_addresses_inside_ipv6_addresses_keep_their_class() {
        assert_eq!(class("::ffff:127.0.0.1"), Some(AddressClass::Loopback));
        assert_eq!(class("::ffff:10.0.0.1"), Some(AddressClass::Private));
        assert_eq!(class("::ffff:1.1.1.1"), Some(AddressClass::Public));
        assert_eq!(class("64:ff9b::1.1.1.1"), Some(AddressClass::Public));
        assert_eq!(class("2002:101:101::1"), Some(AddressClass::Public));
        for address in [
            "::ffff:169.254.169.254",
            "::ffff:0.0.0.0",
            "::127.0.0.1",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::169.254.169.254",
            "2002:a9fe:a9fe::1",
            "2002:7f00:1::1",
        ] {
            assert_eq!(class(address), None, "{address}");
        }
    }
}
