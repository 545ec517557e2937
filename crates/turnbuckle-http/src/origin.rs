//! Who may reach the endpoint: `Host` and `Origin` against lists that are parsed once.
//!
//! A page of somebody else's site must not reach a server on this machine, not even by a name that
//! it made point here.
//!
//! Specification: basic/transports/streamable-http, "Security & Endpoint" (2026-07-28).

use std::fmt;

/// The loopback names, on any port.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

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
                .map(|name| Host::parse(name.as_bytes()))
                .collect(),
            Some(hosts) => hosts
                .iter()
                .map(|host| Host::parse(host.as_bytes()))
                .collect(),
        };
        let origins = origins
            .iter()
            .map(|origin| origin.trim_end_matches('/').to_ascii_lowercase())
            .collect();
        Self {
            hosts: Vec::from_iter::<Vec<_>>(hosts),
            origins,
        }
    }

    /// Judges a request by its `Host` and, if a page sent it, its `Origin`.
    pub(crate) fn check(
        &self,
        host: Option<&[u8]>,
        origin: Option<&[u8]>,
    ) -> Result<(), Forbidden> {
        let shown =
            |text: &[u8]| String::from_utf8_lossy(&text[..text.len().min(128)]).into_owned();
        match host {
            Some(host) if self.has_host(host) => {}
            other => return Err(Forbidden::Host(shown(other.unwrap_or_default()))),
        }
        match origin {
            None => Ok(()),
            Some(origin) if self.has_origin(origin) => Ok(()),
            Some(origin) => Err(Forbidden::Origin(shown(origin))),
        }
    }

    fn has_host(&self, host: &[u8]) -> bool {
        self.hosts.iter().any(|allowed| allowed.matches(host))
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
    fn parse(text: &[u8]) -> Self {
        let (name, port) = split(text);
        let port = port.and_then(|port| std::str::from_utf8(port).ok()?.parse().ok());
        Self {
            name: String::from_utf8_lossy(name).to_ascii_lowercase(),
            port,
        }
    }

    fn matches(&self, host: &[u8]) -> bool {
        let (name, port) = split(host);
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
            .check(Some(host.as_bytes()), origin.map(str::as_bytes))
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
        assert!(allowed.check(None, None).is_err());
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
        let host = allowed.check(Some(b"evil.example"), None).unwrap_err();
        assert!(host.to_string().contains("Config::allowed_hosts"));
        let origin = allowed
            .check(Some(b"localhost"), Some(b"http://evil.example"))
            .unwrap_err();
        assert!(origin.to_string().contains("Config::allowed_origins"));
    }
}
