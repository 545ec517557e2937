//! The names and addresses of the local machine.

use std::net::IpAddr;

/// Returns whether a host is always the local machine: `localhost` and names below it, in any case
/// and with the dot that ends a full name, or a loopback address. An IPv6 address may be in
/// brackets. The host has no port.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    let brackets = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    if let Some(address) = brackets {
        return address.parse().is_ok_and(is_loopback_v6);
    }
    if let Ok(address) = host.parse() {
        return is_loopback_address(address);
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    match name.len().checked_sub("localhost".len()) {
        Some(start) => {
            let (labels, last) = name.as_bytes().split_at(start);
            last.eq_ignore_ascii_case(b"localhost") && matches!(labels, [] | [_, .., b'.'])
        }
        None => false,
    }
}

/// Returns whether an address is of the loopback interface: `127.0.0.0/8`, `::1`, or the first
/// mapped into IPv6.
#[must_use]
pub fn is_loopback_address(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn is_loopback_v6(address: std::net::Ipv6Addr) -> bool {
    is_loopback_address(address.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_the_local_machine_is_known() {
        for host in [
            "localhost",
            "LocalHost",
            "localhost.",
            "a.localhost",
            "a.b.LOCALHOST.",
            "127.0.0.1",
            "127.255.255.254",
            "::1",
            "[::1]",
            "[0:0:0:0:0:0:0:1]",
            "[0000::0001]",
            "::ffff:127.0.0.1",
            "[::ffff:127.0.0.1]",
            "[::FFFF:7f00:1]",
        ] {
            assert!(is_loopback(host), "{host}");
        }
    }

    #[test]
    fn other_hosts_are_not_the_local_machine() {
        for host in [
            "",
            ".",
            ".localhost",
            "localhost..",
            "localhost.example.com",
            "notlocalhost",
            "évil.example",
            "local",
            "127.0.0.1.example.com",
            "[127.0.0.1]",
            "[localhost]",
            "[::1",
            "::2",
            "0.0.0.0",
            "[::]",
            "10.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "2130706433",
            "127.1",
            "localhost:80",
            "127.0.0.1.",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
