//! HTTP exchanges, and what the timeline keeps of them.

use bytes::Bytes;
use turnbuckle_types::base::secrets::is_secret_name;

use super::REDACTED;
use crate::api::{Header, HttpFacts};
use crate::values::string::char_boundary;

/// The most headers that are kept of a request or a response.
const MAX_HEADERS: usize = 100;

/// The most bytes that are kept of a path, a name or a value.
const MAX_TEXT_BYTES: usize = 4096;

/// The schemes of credentials, which are no secrets.
const SCHEMES: [&str; 3] = ["Bearer", "DPoP", "Basic"];

/// An HTTP exchange as it was on the wire: the secrets in it are removed before anybody sees it.
#[derive(Clone)]
pub struct HttpExchange {
    /// The HTTP method.
    pub method: String,
    /// The path and the query.
    pub path: String,
    /// The status of the response.
    pub status: Option<u16>,
    /// The names and values of the headers of the request.
    pub request: Vec<(String, String)>,
    /// The names and values of the headers of the response.
    pub response: Vec<(String, String)>,
    /// The reason why there is no response.
    pub error: Option<String>,
    /// The microseconds from the request to the head of the response.
    pub duration_us: u64,
    /// The body of the request, by which its message is found.
    pub body: Bytes,
}

impl HttpExchange {
    /// Returns the facts without secrets. `redact` replaces those of a text.
    pub(super) fn to_facts(&self, redact: impl Fn(&str) -> Option<String>) -> HttpFacts {
        let redacted = |text: &str| {
            let text = &text[..char_boundary(text.as_bytes(), MAX_TEXT_BYTES)];
            redact(text).unwrap_or_else(|| text.to_owned())
        };
        let headers = |headers: &[(String, String)]| {
            let headers = headers.iter().take(MAX_HEADERS);
            let header = headers.map(|(name, value)| Header {
                name: redacted(&name.to_ascii_lowercase()),
                value: match is_secret_name(name) {
                    true => hide(value),
                    false => redacted(value),
                },
            });
            header.collect()
        };
        HttpFacts {
            method: redacted(&self.method),
            path: redacted(&self.path),
            status: self.status,
            request: headers(&self.request),
            response: headers(&self.response),
            error: self.error.as_deref().map(redacted),
        }
    }
}

/// Returns a secret value as it is shown: with the scheme of credentials.
fn hide(value: &str) -> String {
    let scheme = value.split_once(' ').map(|(scheme, _)| scheme);
    let known = scheme.and_then(|scheme| {
        let mut schemes = SCHEMES.iter();
        schemes.find(|known| known.eq_ignore_ascii_case(scheme))
    });
    match known {
        Some(scheme) => format!("{scheme} {REDACTED}"),
        None => REDACTED.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_have_no_secrets_and_are_bounded() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut request = vec![
            header("Authorization", "bearer abc"),
            header("Mcp-Session-Id", "abc def"),
            header("X-Note", "my key-12345"),
            header("Accept", "a/b"),
        ];
        request.extend((0..200).map(|n| header(&format!("x-{n}"), &"y".repeat(5000))));
        let exchange = HttpExchange {
            method: "POST".to_owned(),
            path: "/key-12345".to_owned(),
            status: None,
            request,
            response: vec![header("set-cookie", "a=b")],
            error: Some("no way to key-12345".to_owned()),
            duration_us: 0,
            body: Bytes::new(),
        };
        let facts = exchange.to_facts(|text| {
            let has_secret = text.contains("key-12345");
            has_secret.then(|| text.replace("key-12345", REDACTED))
        });
        assert_eq!(
            (facts.path.as_str(), facts.request.len()),
            ("/[redacted]", MAX_HEADERS)
        );
        assert_eq!(facts.error.as_deref(), Some("no way to [redacted]"));
        let values: Vec<_> = facts.request.iter().map(|header| &*header.value).collect();
        let expected = ["Bearer [redacted]", "[redacted]", "my [redacted]", "a/b"];
        assert_eq!(values[..4], expected);
        assert_eq!(
            (values[4].len(), &*facts.request[0].name),
            (MAX_TEXT_BYTES, "authorization")
        );
        assert_eq!(facts.response[0].value, "[redacted]");
    }
}
