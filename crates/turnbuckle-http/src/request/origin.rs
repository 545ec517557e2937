//! The check of a request's `Host` and `Origin` headers against the allowed ones, which keeps web
//! pages of other sites away from a local server (DNS rebinding).
//!
//! Specification: basic/transports/streamable-http, "Security & Endpoint" (2026-07-28).

use std::net::IpAddr;

use turnbuckle_types::base::host::is_loopback;
use turnbuckle_wire::era::headers::HeaderValues;

use crate::options::HttpServerOptions;

/// The names of the loopback addresses.
const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Returns the loopback names and `address` as the names of a server that is bound to it.
pub(crate) fn loopback_names_and(address: IpAddr) -> Vec<String> {
    let own = match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    let names = LOOPBACK_NAMES.into_iter().map(str::to_owned);
    names.chain([own]).collect()
}

/// The hosts and origins that requests may name.
#[derive(Debug, Clone)]
pub(crate) struct OriginPolicy {
    hosts: Vec<AllowedHost>,
    origins: Vec<String>,
    /// True if pages of every port of this machine are allowed.
    any_loopback_port: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedHost {
    name: String,
    port: Option<u16>,
}

/// The refusal of a request by its host or origin. Its text names the setting that allows it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OriginRefusal {
    #[error("the host {0:?} is not one of HttpServerOptions::allowed_hosts")]
    Host(String),
    #[error(
        "the origin {0:?} is not one of HttpServerOptions::allowed_origins; pages of this machine \
         are on the endpoint's own port, or need HttpServerOptions::allow_loopback_origins"
    )]
    Origin(String),
}

impl OriginRefusal {
    /// Returns the setting that allows the host or the origin.
    pub(crate) fn setting(&self) -> &'static str {
        match self {
            Self::Host(_) => "HttpServerOptions::allowed_hosts",
            Self::Origin(_) => "HttpServerOptions::allowed_origins",
        }
    }
}

impl OriginPolicy {
    pub(crate) fn new(options: &HttpServerOptions) -> Self {
        let hosts = match &options.allowed_hosts {
            None => LOOPBACK_NAMES
                .iter()
                .filter_map(|name| AllowedHost::parse(name))
                .collect(),
            Some(hosts) => hosts
                .iter()
                .filter_map(|host| AllowedHost::parse(host))
                .collect(),
        };
        let origins = options
            .allowed_origins
            .iter()
            .map(|origin| origin.trim_end_matches('/').to_ascii_lowercase())
            .collect();
        Self {
            hosts,
            origins,
            any_loopback_port: options.allow_loopback_origins,
        }
    }

    /// Checks the `Host` of a request, and its `Origin` if a web page sent it.
    pub(crate) fn check(
        &self,
        host: HeaderValues<'_>,
        origin: HeaderValues<'_>,
    ) -> Result<(), OriginRefusal> {
        let host = match host {
            HeaderValues::One(host) if self.allows_host(host) => host,
            other => return Err(OriginRefusal::Host(display_value(other))),
        };
        match origin {
            HeaderValues::Missing => Ok(()),
            HeaderValues::One(origin) if self.allows_origin(origin, host) => Ok(()),
            other => Err(OriginRefusal::Origin(display_value(other))),
        }
    }

    fn allows_host(&self, host: &[u8]) -> bool {
        let (name, port) = split_port(host);
        self.hosts.iter().any(|allowed| allowed.matches(name, port))
    }

    /// Returns whether a page of this origin may use the endpoint, which it reaches under `host`.
    fn allows_origin(&self, origin: &[u8], host: &[u8]) -> bool {
        if self
            .origins
            .iter()
            .any(|allowed| origin.eq_ignore_ascii_case(allowed.as_bytes()))
        {
            return true;
        }
        let schemes = [(&b"http://"[..], &b"80"[..]), (b"https://", b"443")];
        let page = schemes.iter().find_map(|(scheme, default_port)| {
            let (start, rest) = origin.split_at_checked(scheme.len())?;
            let is_scheme = start.eq_ignore_ascii_case(scheme);
            is_scheme.then_some((rest, *default_port))
        });
        let Some((page, default_port)) = page else {
            return false;
        };
        let (name, port) = split_port(page);
        let is_loopback = std::str::from_utf8(name).is_ok_and(is_loopback);
        if is_loopback && self.any_loopback_port {
            return true;
        }
        if !self.origins.is_empty() {
            return false;
        }
        // A program on another port of this machine is not the one that serves here: a host without a
        // port allows the pages of loopback names on the endpoint's own port only.
        let is_own_port = || {
            let own = split_port(host).1.unwrap_or(default_port);
            port.unwrap_or(default_port) == own
        };
        self.hosts.iter().any(|allowed| {
            allowed.matches(name, port) && (allowed.port.is_some() || !is_loopback || is_own_port())
        })
    }
}

impl AllowedHost {
    /// Parses a host of the settings. An invalid one is logged and allows nothing.
    fn parse(text: &str) -> Option<Self> {
        let (name, port) = split_port(text.trim().as_bytes());
        let port = port.map(parse_port);
        if name.is_empty() || name.contains(&b'/') || port == Some(None) {
            tracing::warn!(
                host = text,
                "invalid host in HttpServerOptions::allowed_hosts: it allows nothing; expected a \
                 name or a name and a port"
            );
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
        let given = port.map(parse_port);
        match (self.port, given) {
            (_, Some(None)) => false,
            (None, _) => true,
            (Some(allowed), Some(Some(port))) => allowed == port,
            (Some(allowed), None) => matches!(allowed, 80 | 443),
        }
    }
}

/// Returns the value of a header as a refusal shows it.
fn display_value(values: HeaderValues<'_>) -> String {
    match values {
        HeaderValues::Missing => "(none)".to_owned(),
        HeaderValues::One(text) => {
            String::from_utf8_lossy(&text[..text.len().min(128)]).into_owned()
        }
        HeaderValues::Repeated => "(several)".to_owned(),
    }
}

/// Parses a port, which has digits alone: a number of Rust may have a sign.
fn parse_port(port: &[u8]) -> Option<u16> {
    let is_number = port.iter().all(u8::is_ascii_digit);
    let digits = std::str::from_utf8(port).ok().filter(|_| is_number);
    digits?.parse().ok()
}

/// Splits a host into its name and its port. The name keeps the brackets of an IPv6 address.
fn split_port(host: &[u8]) -> (&[u8], Option<&[u8]>) {
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

    fn is_allowed(policy: &OriginPolicy, host: &str, origin: Option<&str>) -> bool {
        policy
            .check(
                HeaderValues::One(host.as_bytes()),
                origin.map(str::as_bytes).into(),
            )
            .is_ok()
    }

    fn policy(hosts: Option<&[String]>, origins: &[&str]) -> OriginPolicy {
        let options = HttpServerOptions::new().allowed_origins(origins.iter().copied());
        OriginPolicy::new(&match hosts {
            Some(hosts) => options.allowed_hosts(hosts),
            None => options,
        })
    }

    #[test]
    fn a_page_of_this_machine_is_on_the_port_of_the_endpoint() {
        let default = policy(None, &[]);
        let hosts = ["127.0.0.9".to_owned(), "localhost:5173".to_owned()];
        let configured = policy(Some(&hosts), &[]);
        let any = OriginPolicy::new(&HttpServerOptions::new().allow_loopback_origins(true));
        for (host, origin, by_default, by_hosts) in [
            ("localhost:3000", "http://localhost:3000", true, false),
            ("localhost:3000", "http://127.0.0.1:3000", true, false),
            ("localhost:3000", "http://[::1]:3000", true, false),
            ("localhost:3000", "http://localhost:5173", false, false),
            ("localhost:3000", "http://LOCALHOST:6274", false, false),
            ("localhost:3000", "http://localhost", false, false),
            ("localhost:3000", "https://localhost", false, false),
            ("localhost", "http://localhost", true, false),
            ("localhost:443", "https://localhost", true, false),
            ("localhost:80", "http://localhost", true, false),
            ("localhost", "http://localhost:81", false, false),
            ("127.0.0.9:3000", "http://127.0.0.9:3000", false, true),
            ("127.0.0.9:3000", "http://127.0.0.9:3001", false, false),
            ("127.0.0.9:3000", "http://localhost:5173", false, true),
        ] {
            let of_host = |policy| is_allowed(policy, host, Some(origin));
            assert_eq!(of_host(&default), by_default, "{host} {origin}");
            assert_eq!(of_host(&configured), by_hosts, "{host} {origin}");
            let is_default_host = is_allowed(&default, host, None);
            assert_eq!(of_host(&any), is_default_host, "{host} {origin}");
        }
        let both = HttpServerOptions::new().allowed_origins(["https://app.example"]);
        let both = OriginPolicy::new(&both.allow_loopback_origins(true));
        for (origin, allowed) in [
            ("https://app.example", true),
            ("http://localhost:6274", true),
            ("http://localhost.evil.example", false),
            ("http://evil.example", false),
        ] {
            let found = is_allowed(&both, "localhost:3000", Some(origin));
            assert_eq!(found, allowed, "{origin}");
        }
    }

    #[test]
    fn by_default_only_loopback_names_pass_on_any_port() {
        let policy = policy(None, &[]);
        for host in [
            "localhost",
            "LOCALHOST:3000",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:80",
        ] {
            assert!(is_allowed(&policy, host, None), "{host}");
            assert!(
                is_allowed(&policy, host, Some(&format!("http://{host}"))),
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
            assert!(!is_allowed(&policy, host, None), "{host}");
        }
        for origin in [
            "http://evil.example",
            "null",
            "localhost",
            "file://localhost",
            "http://localhost.evil.example",
        ] {
            assert!(!is_allowed(&policy, "localhost", Some(origin)), "{origin}");
        }
    }

    #[test]
    fn a_missing_or_repeated_host_is_refused_and_a_repeated_origin() {
        let policy = policy(None, &[]);
        let good = HeaderValues::One(b"localhost");
        for bad in [HeaderValues::Missing, HeaderValues::Repeated] {
            assert!(policy.check(bad, HeaderValues::Missing).is_err());
        }
        assert!(policy.check(good, HeaderValues::Missing).is_ok());
        assert!(policy.check(good, HeaderValues::Repeated).is_err());
    }

    #[test]
    fn an_invalid_host_in_the_settings_allows_nothing() {
        let hosts = ["https://mcp.example", "mcp.example:x", ":80", ""].map(str::to_owned);
        let policy = policy(Some(&hosts), &[]);
        for host in [
            "mcp.example",
            "mcp.example:80",
            "https",
            "https://mcp.example",
            "",
        ] {
            assert!(!is_allowed(&policy, host, None), "{host}");
        }
    }

    #[test]
    fn a_configured_list_replaces_the_default() {
        let hosts = ["mcp.example".to_owned(), "other.example:8443".to_owned()];
        let policy = policy(Some(&hosts), &["https://app.example/"]);
        assert!(is_allowed(
            &policy,
            "mcp.example:9",
            Some("https://APP.example")
        ));
        assert!(is_allowed(&policy, "other.example:8443", None));
        assert!(!is_allowed(&policy, "other.example:1", None));
        assert!(!is_allowed(&policy, "localhost", None));
        assert!(!is_allowed(
            &policy,
            "mcp.example",
            Some("https://mcp.example")
        ));
    }

    #[test]
    fn the_refusal_names_the_setting() {
        let policy = policy(None, &[]);
        let host = policy
            .check(HeaderValues::One(b"evil.example"), HeaderValues::Missing)
            .unwrap_err();
        assert!(
            host.to_string()
                .contains("HttpServerOptions::allowed_hosts")
        );
        let origin = policy
            .check(
                HeaderValues::One(b"localhost"),
                HeaderValues::One(b"http://evil.example"),
            )
            .unwrap_err();
        assert!(
            origin
                .to_string()
                .contains("HttpServerOptions::allowed_origins")
        );
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
            let policy = policy(Some(&[with(port)]), &[]);
            let default = |port: u16| matches!(port, 80 | 443);
            let fits = match (port, other) {
                (None, _) => true,
                (Some(port), Some(other)) => port == other,
                (Some(port), None) => default(port),
            };
            let asked = with(other).to_ascii_uppercase();
            assert_eq!(is_allowed(&policy, &asked, None), fits);
            // The origin of a page that is not of this machine is allowed if and only if its host is.
            let own = with(port);
            let page = format!("HTTPS://{}", with(other));
            assert_eq!(is_allowed(&policy, &own, Some(&page)), fits);
        }

        #[test]
        fn name_and_port_together_are_the_host(host in "[\\[\\]:a.0]{0,9}|.{0,9}") {
            let (name, port) = split_port(host.as_bytes());
            let mut again = name.to_vec();
            if let Some(port) = port {
                again.push(b':');
                again.extend_from_slice(port);
            }
            assert_eq!(again, host.as_bytes());
        }

        #[test]
        fn a_longer_name_is_another_name(before in "[a-z.]{1,5}", after in "[a-z.]{1,5}") {
            let policy = policy(None, &[]);
            for name in LOOPBACK_NAMES {
                for host in [format!("{before}{name}"), format!("{name}{after}")] {
                    assert!(!is_allowed(&policy, &host, None), "{host}");
                    let page = format!("http://{host}");
                    assert!(!is_allowed(&policy, "localhost", Some(&page)), "{page}");
                }
            }
        }
    }
}
