//! Rules for redirect URIs.

use serde::Deserialize;
use turnbuckle_types::base::host;
use url::Url;

/// The kind of an application, by which redirect URIs are judged.
///
/// Specification: OpenID Connect Dynamic Client Registration 1.0, section 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    // A URL parser drops or replaces these, and others may read the text in another way.
    let is_odd = |byte: u8| !byte.is_ascii_graphic() || byte == b'\\';
    let is_web = application_type == Some(ApplicationType::Web);
    let is_local = is_local(&parsed);
    let fault = if uri.bytes().any(is_odd) {
        "a redirect URI has a character that no URL has"
    } else if parsed.fragment().is_some() {
        "a redirect URI has a fragment"
    } else if !parsed.username().is_empty() || parsed.password().is_some() {
        "a redirect URI has a user name or a password"
    } else if !matches!(parsed.scheme(), "https" | "http") {
        "a redirect URI must be https, or http to localhost"
    } else if is_local && is_web {
        "a web application cannot be redirected to the own machine"
    } else if !is_local && parsed.scheme() == "http" {
        "a redirect URI to another machine must be https"
    } else {
        return Ok(());
    };
    Err(fault.to_owned())
}

/// Returns true if the URL names the own machine.
pub(super) fn is_local(url: &Url) -> bool {
    url.host_str().is_some_and(host::is_loopback)
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
