//! Origins that a page may access, as a content security policy (CSP) lists them.
//!
//! A host copies them into a header, so nothing but valid origins may be in the list.

/// The longest host name, in bytes.
const MAX_HOST_BYTES: usize = 253;

/// The longest label of a host name, in bytes.
const MAX_LABEL_BYTES: usize = 63;

/// The directive that a list of origins is for. It decides which origins are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OriginUse {
    /// Requests of scripts.
    Connect,
    /// Scripts, styles, images, fonts and media.
    Resource,
    /// Frames inside the page.
    Frame,
    /// The base URI of the document.
    BaseUri,
}

impl OriginUse {
    fn schemes(self) -> &'static [&'static str] {
        match self {
            Self::Connect => &["https", "http", "wss", "ws"],
            Self::Resource | Self::Frame | Self::BaseUri => &["https", "http"],
        }
    }
}

/// Checks that the text is a scheme, a host and an optional port.
///
/// # Errors
/// The reason why it is not an origin.
pub(crate) fn check_origin(origin: &str, purpose: OriginUse) -> Result<(), &'static str> {
    let (scheme, authority) = origin
        .split_once("://")
        .ok_or("an origin begins with a scheme, such as `https://`")?;
    if !purpose.schemes().contains(&scheme) {
        return Err("its scheme is not one of the web");
    }
    if authority.contains(['/', '?', '#', '@', '\\']) {
        return Err("an origin is a scheme, a host and perhaps a port, and nothing else");
    }
    let host = match authority.split_once(':') {
        Some((host, port)) if is_port(port) => host,
        Some(_) => return Err("its port is no number from 1 to 65535"),
        None => authority,
    };
    let host = match host.strip_prefix("*.") {
        Some(_) if purpose != OriginUse::Resource => {
            return Err("only a resource domain may be a wildcard");
        }
        Some(domain) if !domain.contains('.') => {
            return Err("its wildcard covers more than the subdomains of one domain");
        }
        Some(domain) => domain,
        None => host,
    };
    if is_host(host) {
        Ok(())
    } else {
        Err("its host is no name of letters, digits, hyphens and dots")
    }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|it| it > 0)
}

/// Returns whether the text is a host name or an IPv4 address. A CSP allows no others.
pub(crate) fn is_host(text: &str) -> bool {
    text.len() <= MAX_HOST_BYTES && text.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=MAX_LABEL_BYTES).contains(&label.len())
        && label.bytes().all(inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [OriginUse; 4] = [
        OriginUse::Connect,
        OriginUse::Resource,
        OriginUse::Frame,
        OriginUse::BaseUri,
    ];

    #[test]
    fn an_origin_is_a_scheme_a_host_and_an_optional_port() {
        for purpose in ALL {
            for origin in [
                "https://api.example.com",
                "http://localhost:3000",
                "http://127.0.0.1:65535",
                "https://xn--bcher-kva.example",
            ] {
                assert_eq!(
                    check_origin(origin, purpose),
                    Ok(()),
                    "{origin} {purpose:?}"
                );
            }
        }
    }

    #[test]
    fn only_origins_are_accepted() {
        let long = format!("https://{}.example", "a".repeat(64));
        let longer = format!("https://{}example", "a.".repeat(124));
        for purpose in ALL {
            for text in [
                "",
                "*",
                "example.com",
                "//example.com",
                "'self'",
                "data:",
                "https:",
                "https://",
                "https://:443",
                "https://*",
                "https://*.com",
                "https://a.*.example",
                "https://*a.example.com",
                "https://example.com/",
                "https://example.com/path",
                "https://example.com?q",
                "https://example.com#f",
                "https://user@example.com",
                "https://example.com:*",
                "https://example.com:0",
                "https://example.com:65536",
                "https://example.com:+80",
                "https://example.com:",
                "https://example.com; script-src *",
                "https://a.example https://b.example",
                "https://a.example,https://b.example",
                "https://a.example\r\nX: 1",
                "https://bücher.example",
                "https://-a.example",
                "https://a-.example",
                "https://a..example",
                "https://example.com.",
                "https://[::1]",
                "javascript://example.com",
                "file://example.com",
                "HTTPS://example.com",
                &long,
                &longer,
            ] {
                assert!(check_origin(text, purpose).is_err(), "{text:?} {purpose:?}");
            }
        }
    }

    #[test]
    fn wildcards_and_web_sockets_are_allowed_only_in_their_lists() {
        for purpose in ALL {
            let wild = check_origin("https://*.example.com", purpose);
            assert_eq!(wild.is_ok(), purpose == OriginUse::Resource, "{purpose:?}");
            let socket = check_origin("wss://live.example.com", purpose);
            assert_eq!(socket.is_ok(), purpose == OriginUse::Connect, "{purpose:?}");
        }
    }
}
