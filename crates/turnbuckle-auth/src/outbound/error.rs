//! The failures of requests to URLs from the wire.

use std::time::Duration;

use turnbuckle_types::base::text::shorten_to;
use url::Url;

/// The most characters of a URL that a text for people repeats.
const MAX_URL_CHARS: usize = 200;

/// The failure of a request. It shows URLs without query, fragment and credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutboundError {
    /// The URL, or the address of its host, is not allowed. Nothing was sent.
    #[error("the URL {url} is refused: {reason}")]
    Refused { url: String, reason: String },
    /// No connection, or the connection was lost.
    #[error("{url} cannot be reached: {reason}")]
    Unreachable { url: String, reason: String },
    /// The body is longer than the limit.
    #[error("the answer of {url} is longer than {max_body_bytes} bytes")]
    TooLarge { url: String, max_body_bytes: usize },
    /// The whole answer did not arrive in time.
    #[error("{url} did not answer within {} s", timeout.as_secs_f32())]
    TimedOut { url: String, timeout: Duration },
    /// The request could not be built.
    #[error("the request to {url} cannot be built: {reason}")]
    InvalidRequest { url: String, reason: String },
    /// The HTTP client could not be built, for instance because of its certificates.
    #[error("the HTTP client cannot be built: {reason}")]
    Setup { reason: String },
}

impl OutboundError {
    /// Returns true if a later attempt may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TimedOut { .. })
    }
}

/// Returns a URL for people: without credentials, and with `?…` for its query.
pub(crate) fn display_url(url: &Url) -> String {
    let mut shown = url.clone();
    // These fail for URLs without a host, which have no credentials.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_fragment(None);
    let query = if url.query().is_some() { "?…" } else { "" };
    shown.set_query(None);
    shorten_to(shown.as_str(), MAX_URL_CHARS) + query
}

/// Returns a text that is meant to be a URL for people, as [`display_url`] does.
pub(crate) fn display_url_text(text: &str) -> String {
    match Url::parse(text) {
        Ok(url) => display_url(&url),
        Err(_) => {
            let end = text.find(['?', '#']).unwrap_or(text.len());
            let shown = &text[..end];
            // Credentials stand before the `@`.
            shorten_to(shown.rsplit('@').next().unwrap_or(shown), MAX_URL_CHARS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_and_queries_are_not_shown() {
        for (text, shown) in [
            (
                "https://user:pass@a.example/b?token=c#d",
                "https://a.example/b?…",
            ),
            ("https://a.example/b", "https://a.example/b"),
            ("//user:pass@a.example/?token=c", "a.example/"),
            ("https://user:pass@[bad/?token=c", "[bad/"),
        ] {
            assert_eq!(display_url_text(text), shown);
        }
    }
}
