//! The credentials of a request.
//!
//! Specification: RFC 6750 section 2, RFC 9449 section 7.1; basic/authorization (2026-07-28), "Token
//! Requirements".

use std::fmt;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::denial::Denial;

/// The longest token that is read.
pub(super) const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// The longest scheme that is looked for.
const MAX_SCHEME_BYTES: usize = 16;
/// The header of a DPoP proof.
pub(super) const DPOP: HeaderName = HeaderName::from_static("dpop");

/// The way in which a client presents its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Bearer,
    Dpop,
    /// The header for API keys.
    ApiKey,
}

/// The token of a request and how it was presented.
#[derive(Clone, Copy)]
pub(super) struct Credentials<'a> {
    pub(super) scheme: Scheme,
    /// The token, whose characters are not checked yet: a token that is known needs no check.
    token: &'a [u8],
    /// The DPoP proof.
    pub(super) proof: Option<&'a HeaderValue>,
}

impl<'a> Credentials<'a> {
    /// Returns the token as it was sent.
    pub(super) fn token_bytes(&self) -> &'a [u8] {
        self.token
    }

    /// Returns the token.
    ///
    /// # Errors
    /// [`Denial::Malformed`] for a token with characters that no token has.
    pub(super) fn token(&self) -> Result<&'a str, Denial> {
        let is_well_formed = match self.scheme {
            Scheme::ApiKey => self.token.iter().all(u8::is_ascii_graphic),
            Scheme::Bearer | Scheme::Dpop => self.token.iter().copied().all(is_bearer_byte),
        };
        match std::str::from_utf8(self.token) {
            Ok(token) if is_well_formed => Ok(token),
            _ => Err(Denial::Malformed("The token is malformed")),
        }
    }
}

/// Hides the token.
impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({:?})", self.scheme)
    }
}

/// Reads the credentials of a request.
///
/// # Errors
/// [`Denial::Malformed`] for a token in the query, several tokens, or a long one;
/// [`Denial::NoCredentials`] for a request without a token.
pub(super) fn read<'a>(
    headers: &'a HeaderMap,
    query: Option<&str>,
    api_key_header: Option<&HeaderName>,
) -> Result<Credentials<'a>, Denial> {
    if query.is_some_and(has_access_token) {
        return Err(Denial::Malformed("A token must not be sent in the query"));
    }
    let authorization = only(headers, &AUTHORIZATION)?;
    let api_key = match api_key_header {
        Some(name) => only(headers, name)?,
        None => None,
    };
    match (authorization, api_key) {
        (Some(_), Some(_)) => Err(Denial::Malformed("More than one credential was sent")),
        (None, None) => Err(Denial::NoCredentials),
        (None, Some(value)) => Ok(Credentials {
            scheme: Scheme::ApiKey,
            token: check_length(value.as_bytes())?,
            proof: None,
        }),
        (Some(value), None) => read_authorization(headers, value),
    }
}

fn read_authorization<'a>(
    headers: &'a HeaderMap,
    value: &'a HeaderValue,
) -> Result<Credentials<'a>, Denial> {
    let value = value.as_bytes();
    let end = value
        .iter()
        .take(MAX_SCHEME_BYTES)
        .position(|byte| *byte == b' ');
    let (scheme, token) = value.split_at(end.unwrap_or(value.len()));
    let scheme = if scheme.eq_ignore_ascii_case(b"bearer") {
        Scheme::Bearer
    } else if scheme.eq_ignore_ascii_case(b"dpop") {
        Scheme::Dpop
    } else {
        return Err(Denial::NoCredentials);
    };
    let proof = match scheme {
        Scheme::Dpop => only(headers, &DPOP)?,
        // A proof of a bound token that is sent as Bearer does not count.
        Scheme::Bearer | Scheme::ApiKey => None,
    };
    Ok(Credentials {
        scheme,
        token: check_length(token.trim_ascii())?,
        proof,
    })
}

/// Returns the only value of a header.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, Denial> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        _ => Err(Denial::Malformed("More than one credential was sent")),
    }
}

fn check_length(token: &[u8]) -> Result<&[u8], Denial> {
    match token.len() {
        0 => Err(Denial::Malformed("The token is malformed")),
        length if length > MAX_TOKEN_BYTES => Err(Denial::Malformed("The token is too long")),
        _ => Ok(token),
    }
}

/// Returns whether a byte may stand in a bearer token (`b64token` of RFC 6750).
fn is_bearer_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
}

/// Returns whether a query has a parameter `access_token`.
fn has_access_token(query: &str) -> bool {
    // Shorter queries cannot hold it.
    query.len() >= "access_token=".len()
        && url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "access_token")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in values {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    #[test]
    fn one_well_formed_credential_is_read() {
        for (value, scheme) in [
            ("Bearer abc.DEF-_~+/=", Scheme::Bearer),
            ("bearer  abc.DEF-_~+/= ", Scheme::Bearer),
            ("DPoP abc.DEF-_~+/=", Scheme::Dpop),
        ] {
            let headers = headers(&[("authorization", value), ("dpop", "proof")]);
            let credentials = read(&headers, Some("a=b&access_toke=c"), None).unwrap();
            assert_eq!(
                (credentials.scheme, credentials.token()),
                (scheme, Ok("abc.DEF-_~+/="))
            );
            assert_eq!(credentials.proof.is_some(), scheme == Scheme::Dpop);
            assert!(!format!("{credentials:?}").contains("abc"));
        }
    }

    #[test]
    fn a_request_without_a_token_has_no_credentials() {
        for values in [
            &[][..],
            &[("authorization", "Basic abc")],
            &[("authorization", "")],
            &[("x-api-key", "a")],
        ] {
            assert_eq!(
                read(&headers(values), None, None).unwrap_err(),
                Denial::NoCredentials
            );
        }
    }

    #[test]
    fn a_malformed_request_is_told_from_a_wrong_token() {
        let long = format!("Bearer {}", "a".repeat(MAX_TOKEN_BYTES + 1));
        for values in [
            &[("authorization", "Bearer")][..],
            &[("authorization", "Bearer ")],
            &[("authorization", "Bearer a b")],
            &[("authorization", "Bearer a, Bearer b")],
            &[("authorization", "Bearer \"a\"")],
            &[("authorization", "Bearer ä")],
            &[("authorization", "Bearer a"), ("authorization", "Bearer b")],
            &[("authorization", "Bearer a"), ("authorization", "Bearer a")],
            &[("authorization", "DPoP a"), ("dpop", "p"), ("dpop", "q")],
            &[("authorization", "Bearer a"), ("x-api-key", "b")],
            &[("x-api-key", "a"), ("x-api-key", "b")],
            &[("x-api-key", "a b")],
            &[("authorization", long.as_str())],
        ] {
            let name = HeaderName::from_static("x-api-key");
            let headers = headers(values);
            let result = read(&headers, None, Some(&name)).and_then(|it| it.token());
            assert!(matches!(result, Err(Denial::Malformed(_))), "{values:?}");
        }
    }

    #[test]
    fn a_token_in_the_query_is_refused_even_beside_a_good_one() {
        for query in [
            "access_token=a",
            "b=c&access_token=a",
            "%61ccess_token=a",
            "access_token=&x=y",
        ] {
            let headers = headers(&[("authorization", "Bearer a")]);
            let result = read(&headers, Some(query), None);
            assert!(matches!(result, Err(Denial::Malformed(_))), "{query}");
        }
    }

    #[test]
    fn the_header_for_api_keys_is_read_if_configured() {
        let name = HeaderName::from_static("x-api-key");
        let headers = headers(&[("x-api-key", "abc")]);
        let credentials = read(&headers, None, Some(&name)).unwrap();
        assert_eq!(
            (credentials.scheme, credentials.token()),
            (Scheme::ApiKey, Ok("abc"))
        );
    }
}
