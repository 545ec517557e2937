//! Who may reach the endpoint: `Host` and `Origin` against lists that are parsed once.
//!
//! A page of somebody else's site must not reach a server on this machine, not even by a name that
//! it made point here.
//!
//! Specification: basic/transports/streamable-http, "Security & Endpoint" (2026-07-28).

use std::fmt;
use std::net::IpAddr;

use turnbuckle_wire::era::headers::HeaderValues;

/// The loopback names, on any port.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The loopback names, and this address under which a server of ours is reached.
pub(crate) fn loopback_and(address: IpAddr) -> Vec<String> {
    let own = match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    let names = LOOPBACK.into_iter().map(str::to_owned);
    names.chain([own]).collect()
}

/// The parsed lists.
#[derive(Debug, Clone)]
pub(crate) struct Allowed {
    hosts: Vec<Host>,
    origins: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    name: String,
    port: Option<u16>,
}

/// Why a request is refused; says which setting would let it pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Forbidden {
    Host(String),
    Origin(String),
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => write!(f, "the host {host:?} is not one of Config::allowed_hosts"),
            Self::Origin(origin) => write!(
                f,
                "the origin {origin:?} is not one of Config::allowed_origins"
            ),
        }
    }
}

impl Allowed {
    pub(crate) fn new(hosts: Option<&[String]>, origins: &[String]) -> Self {
        let hosts = match hosts {
            None => LOOPBACK
                .iter()
                .filter_map(|name| Host::parse(name))
                .collect(),
            Some(hosts) => hosts.iter().filter_map(|host| Host::parse(host)).collect(),
        };
        let origins = origins
            .iter()
            .map(|origin| origin.trim_end_matches('/').to_ascii_lowercase())
            .collect();
        Self { hosts, origins }
    }

    /// Judges a request by its `Host` and, if a page sent it, its `Origin`.
    pub(crate) fn check(
        &self,
        host: HeaderValues<'_>,
        origin: HeaderValues<'_>,
    ) -> Result<(), Forbidden> {
        match host {
            HeaderValues::One(host) if self.has_host(host) => {}
            other => return Err(Forbidden::Host(shown(other))),
        }
        match origin {
            HeaderValues::Missing => Ok(()),
            HeaderValues::One(origin) if self.has_origin(origin) => Ok(()),
            other => Err(Forbidden::Origin(shown(other))),
        }
    }

    fn has_host(&self, host: &[u8]) -> bool {
        let (name, port) = split(host);
        self.hosts.iter().any(|allowed| allowed.matches(name, port))
    }

    fn has_origin(&self, origin: &[u8]) -> bool {
        if self
            .origins
            .iter()
            .any(|allowed| origin.eq_ignore_ascii_case(allowed.as_bytes()))
        {
            return true;
        }
        if !self.origins.is_empty() {
            return false;
        }
        let host = [&b"http://"[..], b"https://"].iter().find_map(|scheme| {
            let (start, rest) = origin.split_at_checked(scheme.len())?;
            start.eq_ignore_ascii_case(scheme).then_some(rest)
        });
        host.is_some_and(|host| self.has_host(host))
    }
}

impl Host {
    /// A host as a setting names it.
    fn parse(text: &str) -> Option<Self> {
        let (name, port) = split(text.trim().as_bytes());
        let port = port.map(|port| std::str::from_utf8(port).ok()?.parse().ok());
        if name.is_empty() || name.contains(&b'/') || port == Some(None) {
            tracing::warn!(host = text, "this is no host: it allows nothing");
            return None;
        }
        Some(Self {
            name: String::from_utf8_lossy(name).to_ascii_lowercase(),
            port: port.flatten(),
        })
    }

    fn matches(&self, name: &[u8], port: Option<&[u8]>) -> bool {
        if !name.eq_ignore_ascii_case(self.name.as_bytes()) {
            return false;
        }
        let given = port.map(|port| std::str::from_utf8(port).ok()?.parse::<u16>().ok());
        match (self.port, given) {
            (_, Some(None)) => false,
            (None, _) => true,
            (Some(allowed), Some(Some(port))) => allowed == port,
            (Some(allowed), None) => matches!(allowed, 80 | 443),
        }
    }
}

/// What a refusal shows of a header.
fn shown(values: HeaderValues<'_>) -> String {
    match values {
        HeaderValues::Missing => "(none)".to_owned(),
        HeaderValues::One(text) => {
            String::from_utf8_lossy(&text[..text.len().min(128)]).into_owned()
        }
        HeaderValues::Repeated => "(several)".to_owned(),
    }
}

/// A host and its port; the brackets of an IPv6 address stay with it.
fn split(host: &[u8]) -> (&[u8], Option<&[u8]>) {
    let after_name = match host.first() {
        Some(b'[') => host
            .iter()
            .position(|&byte| byte == b']')
            .map_or(host.len(), |at| at + 1),
        _ => host
            .iter()
            .position(|&byte| byte == b':')
            .unwrap_or(host.len()),
    };
    let (name, rest) = host.split_at(after_name);
    match rest.split_first() {
        Some((b':', port)) => (name, Some(port)),
        Some(_) => (host, None),
        None => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(allowed: &Allowed, host: &str, origin: Option<&str>) -> bool {
        allowed
            .check(
                HeaderValues::One(host.as_bytes()),
                origin.map(str::as_bytes).into(),
            )
            .is_ok()
    }

    #[test]
    fn by_default_only_loopback_names_pass_on_any_port() {
        let allowed = Allowed::new(None, &[]);
        for host in [
            "localhost",
            "LOCALHOST:3000",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:80",
        ] {
            assert!(judge(&allowed, host, None), "{host}");
            assert!(
                judge(&allowed, host, Some(&format!("http://{host}"))),
                "{host}"
            );
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.nip.io",
            "",
            "[::1",
            "localhost:x",
            "localhost:3:4",
        ] {
            assert!(!judge(&allowed, host, None), "{host}");
        }
        for origin in [
            "http://evil.example",
            "null",
            "localhost",
            "file://localhost",
            "http://localhost.evil.example",
        ] {
            assert!(!judge(&allowed, "localhost", Some(origin)), "{origin}");
        }
    }

    #[test]
    fn a_header_that_is_missing_or_repeated_says_nothing() {
        let allowed = Allowed::new(None, &[]);
        let good = HeaderValues::One(b"localhost");
        for bad in [HeaderValues::Missing, HeaderValues::Repeated] {
            assert!(allowed.check(bad, HeaderValues::Missing).is_err());
        }
        assert!(allowed.check(good, HeaderValues::Missing).is_ok());
        assert!(allowed.check(good, HeaderValues::Repeated).is_err());
    }

    #[test]
    fn a_setting_that_is_no_host_allows_nothing() {
        let hosts = ["https://mcp.example", "mcp.example:x", ":80", ""].map(str::to_owned);
        let allowed = Allowed::new(Some(&hosts), &[]);
        for host in [
            "mcp.example",
            "mcp.example:80",
            "https",
            "https://mcp.example",
            "",
        ] {
            assert!(!judge(&allowed, host, None), "{host}");
        }
    }

    #[test]
    fn a_list_that_is_set_counts_alone() {
        let hosts = ["mcp.example".to_owned(), "other.example:8443".to_owned()];
        let allowed = Allowed::new(Some(&hosts), &["https://app.example/".to_owned()]);
        assert!(judge(
            &allowed,
            "mcp.example:9",
            Some("https://APP.example")
        ));
        assert!(judge(&allowed, "other.example:8443", None));
        assert!(!judge(&allowed, "other.example:1", None));
        assert!(!judge(&allowed, "localhost", None));
        assert!(!judge(&allowed, "mcp.example", Some("https://mcp.example")));
    }

    #[test]
    fn the_refusal_names_the_setting() {
        let allowed = Allowed::new(None, &[]);
        let host = allowed
            .check(HeaderValues::One(b"evil.example"), HeaderValues::Missing)
            .unwrap_err();
        assert!(host.to_string().contains("Config::allowed_hosts"));
        let origin = allowed
            .check(
                HeaderValues::One(b"localhost"),
                HeaderValues::One(b"http://evil.example"),
            )
            .unwrap_err();
        assert!(origin.to_string().contains("Config::allowed_origins"));
    }
    proptest::proptest! {
        #[test]
        fn a_host_is_a_name_and_maybe_a_port(
            name in "[a-z0-9.-]{1,20}|\\[[0-9a-f:]{1,20}\\]",
            port: Option<u16>,
            other: Option<u16>,
        ) {
            let with = |port: Option<u16>| match port {
                Some(port) => format!("{name}:{port}"),
                None => name.clone(),
            };
            let allowed = Allowed::new(Some(&[with(port)]), &[]);
            let default = |port: u16| matches!(port, 80 | 443);
            let fits = match (port, other) {
                (None, _) => true,
                (Some(port), Some(other)) => port == other,
                (Some(port), None) => default(port),
            };
            let asked = with(other).to_ascii_uppercase();
            assert_eq!(judge(&allowed, &asked, None), fits);
            // The origin of a page is allowed exactly where its host is.
            let own = with(port);
            let page = format!("HTTPS://{}", with(other));
            assert_eq!(judge(&allowed, &own, Some(&page)), fits);
        }

        #[test]
        fn nothing_of_a_host_is_lost(host in "[\\[\\]:a.0]{0,9}|.{0,9}") {
            let (name, port) = split(host.as_bytes());
            let mut again = name.to_vec();
            if let Some(port) = port {
                again.push(b':');
                again.extend_from_slice(port);
            }
            assert_eq!(again, host.as_bytes());
        }

        #[test]
        fn a_longer_name_is_another_name(before in "[a-z.]{1,5}", after in "[a-z.]{1,5}") {
            let allowed = Allowed::new(None, &[]);
            for name in LOOPBACK {
                for host in [format!("{before}{name}"), format!("{name}{after}")] {
                    assert!(!judge(&allowed, &host, None), "{host}");
                    let page = format!("http://{host}");
                    assert!(!judge(&allowed, "localhost", Some(&page)), "{page}");
                }
            }
        }
    }
}
