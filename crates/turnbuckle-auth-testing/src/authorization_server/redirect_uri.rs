//! Rules for redirect URIs.

use url::{Host, Url};

/// The kind of an application, by which redirect URIs are judged.
///
/// Specification: OpenID Connect Dynamic Client Registration 1.0, section 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApplicationType {
    Native,
    Web,
}

/// Checks a redirect URI that a client registers: https, or http to the own machine.
///
/// # Errors
/// Returns a text for people.
pub(super) fn check(uri: &str, application_type: Option<ApplicationType>) -> Result<(), String> {
    let parsed = Url::parse(uri).map_err(|_| "a redirect URI is no absolute URL".to_owned())?;
    if uri
        .chars()
        .any(|c| c.is_ascii_control() || c.is_whitespace() || c == '\\')
    {
        return Err("a redirect URI has a character that no URL has".to_owned());
    }
    if parsed.fragment().is_some() {
        return Err("a redirect URI has a fragment".to_owned());
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("a redirect URI has a user name or a password".to_owned());
    }
    let is_web = application_type == Some(ApplicationType::Web);
    match (parsed.scheme(), is_local(&parsed)) {
        ("https", false) => Ok(()),
        ("https" | "http", true) if is_web => {
            Err("a web application cannot be redirected to the own machine".to_owned())
        }
        ("https" | "http", true) => Ok(()),
        ("http", false) => Err("a redirect URI to another machine must be https".to_owned()),
        _ => Err("a redirect URI must be https, or http to localhost".to_owned()),
    }
}

/// Returns true if the URL names the own machine.
pub(super) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        _ => is_loopback_address(url),
    }
}

/// Returns true if `requested` is the registered URI. Only the port of http to a loopback address
/// may differ (RFC 8252, section 7.3).
pub(super) fn is_match(registered: &str, requested: &str) -> bool {
    if registered == requested {
        return true;
    }
    match (
        without_loopback_port(registered),
        without_loopback_port(requested),
    ) {
        (Some(registered), Some(requested)) => registered == requested,
        _ => false,
    }
}

/// Returns the URI without its port, if it is http to a loopback address. The rest is kept byte for
/// byte.
fn without_loopback_port(uri: &str) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix("http://")?;
    let (host, rest) = ["127.0.0.1", "[::1]"]
        .into_iter()
        .find_map(|host| rest.strip_prefix(host).map(|rest| (host, rest)))?;
    let rest = match rest.strip_prefix(':') {
        None => rest,
        Some(rest) => {
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            rest[..end].parse::<u16>().ok()?;
            &rest[end..]
        }
    };
    let is_path_or_query = rest.is_empty() || rest.starts_with(['/', '?']);
    is_path_or_query.then_some((host, rest))
}

fn is_loopback_address(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_port_of_a_loopback_address_may_differ() {
        let registered = "http://127.0.0.1/callback";
        assert!(is_match(registered, "http://127.0.0.1:4711/callback"));
        assert!(is_match(
            "http://[::1]:1/callback?a=b",
            "http://[::1]:2/callback?a=b"
        ));
        for other in [
            "http://127.0.0.1:4711/callback/",
            "http://127.0.0.1:4711/other",
            "http://127.0.0.1:4711/callback?x=y",
            "http://127.0.0.1:4711@evil.example/callback",
            "http://127.0.0.1:99999/callback",
            "http://127.0.0.1.evil.example/callback",
            "http://127.0.0.2:1/callback",
            "http://[::1]:1/callback",
            "http://localhost:1/callback",
            "https://127.0.0.1:1/callback",
            "HTTP://127.0.0.1/callback",
        ] {
            assert!(!is_match(registered, other), "{other}");
        }
        assert!(!is_match(
            "http://localhost:1/callback",
            "http://localhost:2/callback"
        ));
        assert!(!is_match(
            "https://a.example/cb",
            "https://a.example:444/cb"
        ));
    }

    #[test]
    fn redirect_uris_are_https_or_local() {
        for uri in [
            "https://a.example/cb",
            "http://localhost:3000/cb",
            "http://127.0.0.1/",
            "http://[::1]:5/",
        ] {
            assert_eq!(check(uri, None), Ok(()), "{uri}");
            let is_allowed_for_web = uri.starts_with("https:");
            assert_eq!(
                check(uri, Some(ApplicationType::Web)).is_ok(),
                is_allowed_for_web,
                "{uri}"
            );
        }
        for uri in [
            "http://a.example/cb",
            "http://localhost.evil.example/cb",
            "https://a.example/cb#x",
            "https://u:p@a.example/cb",
            "https://a.example\\@evil.example/",
            "https://a.exa\nmple/cb",
            "javascript:alert(1)",
            "data:text/html,x",
            "com.example.app:/cb",
            "/callback",
            "",
        ] {
            assert!(check(uri, None).is_err(), "{uri}");
        }
    }
}
