//! URL elicitation: the server asks the user to visit a URL.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use turnbuckle_session::handler::Signal;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::host;
use turnbuckle_types::base::text::is_ambiguous_in_url;
use turnbuckle_types::{ElicitAction, ElicitRequestUrlParams, ElicitResult, Json, ProtocolError};
use turnbuckle_wire::revision::Features;

use crate::input::handler::InputHandler;
use crate::input::question::QuestionContext;
use crate::input::visits::{UrlVisit, UrlVisits};

/// The longest URL that is passed to the handler, in bytes.
const MAX_URL_BYTES: usize = 8192;

/// The user's handler of URL elicitations (`ClientBuilder::on_url`).
pub(crate) type UrlHandler = InputHandler<UrlRequest, UrlAnswer>;

/// A URL that a server wants the user to visit.
///
/// The client neither opens nor fetches it. Show the whole URL with its [host](Self::host) made
/// plain, and its [warnings](Self::warnings). Open it only after the user agreed, in a browser
/// whose pages this program cannot read. The answer is sent at once; what happens on the site is
/// between the user and the site.
///
/// Specification: client/elicitation, "Safe URL Handling" (2026-07-28).
#[derive(Clone)]
#[non_exhaustive]
pub struct UrlRequest {
    /// The reason for the visit, in the server's words.
    pub message: String,
    /// The URL, of scheme `http` or `https`.
    pub url: String,
    /// The host of the URL in lower case, without port and credentials.
    pub host: String,
    /// The properties of the URL that may mislead the user.
    pub warnings: Vec<UrlWarning>,
    /// The registered visit, if the server may announce its completion.
    visit: Option<Arc<UrlVisit>>,
}

/// A property of a URL that may mislead a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlWarning {
    /// The host contains Punycode (`xn--`), which browsers may show as letters that imitate others.
    Punycode,
    /// The host contains letters outside ASCII, which may imitate others.
    NonAscii,
    /// The URL has credentials before its host, which may look like a host.
    Credentials,
    /// The URL is not encrypted and leads to another machine.
    Unencrypted,
}

impl fmt::Display for UrlWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Punycode => "the host is written in Punycode and may imitate another",
            Self::NonAscii => "the host has letters that may imitate others",
            Self::Credentials => "what stands before the @ is not the host",
            Self::Unencrypted => "the connection is not encrypted",
        })
    }
}

/// The user's answer to a [`UrlRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlAnswer {
    /// The user agreed to visit the URL.
    Accept,
    /// The user refused.
    Decline,
    /// The user dismissed the question without a choice.
    Cancel,
}

impl UrlRequest {
    /// Creates the request from the parameters of `elicitation/create`: parses and checks the URL,
    /// and registers the visit if the server can announce its completion. `ended` fires when the
    /// connection is lost.
    ///
    /// # Errors
    /// An error of invalid parameters if the URL is deceptive, too long or not HTTP.
    pub(crate) fn from_params(
        params: ElicitRequestUrlParams,
        features: &Features,
        visits: &UrlVisits,
        ended: &Signal,
    ) -> Result<Self, ProtocolError> {
        let (host, warnings) = parse_url(&params.url)
            .map_err(|reason| ProtocolError::invalid_params(format!("the URL {reason}")))?;
        // Only some revisions have `notifications/elicitation/complete`, which names the id.
        let id = params.elicitation_id.filter(|_| features.elicitation_id);
        Ok(Self {
            message: params.message,
            url: params.url,
            host,
            warnings,
            visit: id.map(|id| visits.register(id, ended.clone())),
        })
    }

    /// Returns the id under which the server may announce that the visit is complete.
    #[must_use]
    pub fn elicitation_id(&self) -> Option<&str> {
        self.visit.as_ref().map(|visit| visit.id())
    }

    /// Waits until the server announces that the visit is complete, and returns true then. Returns
    /// false as soon as no announcement can come: the revision has none, or the connection is lost.
    /// A server need not announce it, so call this with a timeout.
    pub async fn wait_for_completion(&self) -> bool {
        match &self.visit {
            Some(visit) => visit.wait_for_completion().await,
            None => false,
        }
    }
}

// Shows the host alone: the rest of a URL may contain secrets.
debug_fields!(UrlRequest { host, warnings });

/// Passes a URL to its handler and returns the answer.
pub(crate) async fn answer_url(
    handler: &UrlHandler,
    url: UrlRequest,
    question: QuestionContext,
) -> Result<ElicitResult, ProtocolError> {
    Ok(match handler.run(url, question).await? {
        UrlAnswer::Accept => ElicitResult::accept_url(),
        UrlAnswer::Decline => ElicitResult::decline(),
        UrlAnswer::Cancel => ElicitResult::cancel(),
    })
}

/// Returns whether an answer says that the user agreed.
pub(crate) fn is_accepted(answer: &Json) -> bool {
    answer
        .decode::<ElicitResult>()
        .is_ok_and(|result| result.action == ElicitAction::Accept)
}

/// Returns the host of a URL and its warnings. URLs that browsers read differently than they look
/// are refused.
fn parse_url(url: &str) -> Result<(String, Vec<UrlWarning>), &'static str> {
    if url.len() > MAX_URL_BYTES {
        return Err("is too long");
    }
    if url.contains(is_ambiguous_in_url) {
        return Err("holds characters that no URL has");
    }
    let (scheme, rest) = url.split_once("://").ok_or("has no host")?;
    let encrypted = match scheme {
        scheme if scheme.eq_ignore_ascii_case("https") => true,
        scheme if scheme.eq_ignore_ascii_case("http") => false,
        _ => return Err("must be http or https"),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (credentials, place) = match authority.rsplit_once('@') {
        Some((_, place)) => (true, place),
        None => (false, authority),
    };
    let host = parse_host(place).ok_or("has no host")?.to_lowercase();
    if is_hidden_address(&host) {
        return Err("has a host that browsers read as another address than it looks");
    }
    let mut warnings = Vec::new();
    if host.split('.').any(|label| label.starts_with("xn--")) {
        warnings.push(UrlWarning::Punycode);
    }
    if !host.is_ascii() {
        warnings.push(UrlWarning::NonAscii);
    }
    if credentials {
        warnings.push(UrlWarning::Credentials);
    }
    if !encrypted && !host::is_loopback(&host) {
        warnings.push(UrlWarning::Unencrypted);
    }
    Ok((host, warnings))
}

/// Returns the host of an authority without credentials, if host and port are valid.
fn parse_host(place: &str) -> Option<&str> {
    let (host, port) = match place.strip_prefix('[') {
        Some(_) => place.split_at(place.find(']')? + 1),
        None => place.split_at(place.find(':').unwrap_or(place.len())),
    };
    let port_is_one = match port.strip_prefix(':') {
        Some(digits) => digits.is_empty() || digits.parse::<u16>().is_ok(),
        None => port.is_empty(),
    };
    let host_is_one = match host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => {
            let letter = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
            !host.trim_matches('.').is_empty() && host.chars().all(letter)
        }
    };
    (port_is_one && host_is_one).then_some(host)
}

/// Returns whether a host is an IPv4 address in another form than four decimal numbers, such as
/// `2130706433`, `0177.0.0.1` or `127.1`, which browsers turn into that address.
///
/// Specification: WHATWG URL, "ends in a number checker".
fn is_hidden_address(host: &str) -> bool {
    let labels = host.strip_suffix('.').unwrap_or(host);
    let last = labels.rsplit('.').next().unwrap_or(labels);
    let hexadecimal = last.strip_prefix("0x");
    let is_number = match hexadecimal {
        Some(digits) => digits.chars().all(|c| c.is_ascii_hexdigit()),
        None => !last.is_empty() && last.chars().all(|c| c.is_ascii_digit()),
    };
    is_number && host.parse::<Ipv4Addr>().is_err()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use turnbuckle_wire::revision::Revision;

    use super::UrlWarning::{Credentials, NonAscii, Punycode, Unencrypted};
    use super::*;

    // requirement: 654dee8d985b
    #[test]
    fn the_host_is_parsed_with_its_warnings() {
        let none: &[UrlWarning] = &[];
        for (url, host, warnings) in [
            ("https://example.com/a?b=c#d", "example.com", none),
            ("HTTPS://Example.COM:8443", "example.com", none),
            (
                "https://example.com?next=@evil.example",
                "example.com",
                none,
            ),
            ("http://localhost:3000/x", "localhost", none),
            ("http://127.0.0.1/", "127.0.0.1", none),
            ("https://0x7f.example/", "0x7f.example", none),
            ("http://[::1]:80/", "[::1]", none),
            ("http://[::ffff:127.0.0.1]/", "[::ffff:127.0.0.1]", none),
            ("http://localhost./", "localhost.", none),
            ("http://example.com/", "example.com", &[Unencrypted]),
            (
                "http://localhost.example.com/",
                "localhost.example.com",
                &[Unencrypted],
            ),
            (
                "https://a.XN--80ak6aa92e.com/",
                "a.xn--80ak6aa92e.com",
                &[Punycode],
            ),
            ("https://аррӏе.com/", "аррӏе.com", &[NonAscii]),
            (
                "https://bank.example@evil.example/",
                "evil.example",
                &[Credentials],
            ),
            ("https://a@b@c.example/", "c.example", &[Credentials]),
        ] {
            assert_eq!(
                parse_url(url),
                Ok((host.to_owned(), warnings.to_vec())),
                "{url}"
            );
        }
    }

    #[test]
    fn ambiguous_urls_are_refused() {
        let long = format!("https://a/{}", "x".repeat(MAX_URL_BYTES));
        for url in [
            "",
            "example.com",
            "javascript://example.com/%0aalert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "https:example.com",
            "https://",
            "https:///path",
            "https://.",
            "https://a@/",
            "https://:80/",
            "https://a:b/",
            "https://a:99999/",
            "https://a:80:80/",
            "https://[::1/",
            "https://[x]/",
            "https://evil.example\\@bank.example/",
            "https://ex%61mple.com/",
            "https://a b/",
            "https://a/\n",
            "https://a/\u{202e}gpj",
            "https://a\u{200b}.com/",
            "https://a\u{3164}.com/",
            "https://a/\u{e0041}",
            "https://a\u{3002}com/",
            "https://2130706433/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://127.0.0.1./",
            "http://0x7f.0.0.0x1/",
            "http://1.2.3.0x/",
            "http://999.0.0.1/",
            &long,
        ] {
            assert!(parse_url(url).is_err(), "{url}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_announcement_completes_its_visit() {
        let (visits, ended) = (UrlVisits::default(), Signal::new());
        let request_in = |revision: Revision, id: Option<&str>| {
            let mut params = ElicitRequestUrlParams::new("m", "https://a/");
            params.elicitation_id = id.map(Into::into);
            UrlRequest::from_params(params, revision.features(), &visits, &ended).unwrap()
        };
        let request = |id| request_in(Revision::NEWEST_LEGACY, id);
        let announce = |id: &str| {
            visits.complete(&format!(
                r#"{{"method":"x","params":{{"elicitationId":"{id}"}}}}"#
            ));
        };
        let (one, two, unnamed) = (request(Some("1")), request(Some("2")), request(None));
        announce("0");
        announce("1");
        visits.complete("{}");
        assert!(one.wait_for_completion().await);
        assert!(!unnamed.wait_for_completion().await);
        // A revision without the announcement does not wait for one.
        let modern = request_in(Revision::NEWEST, Some("3"));
        assert_eq!(modern.elicitation_id(), None);
        let none = tokio::time::timeout(Duration::from_secs(9), modern.wait_for_completion());
        assert_eq!(none.await, Ok(false));
        let mut waiting = std::pin::pin!(two.wait_for_completion());
        let still = tokio::time::timeout(Duration::from_secs(9), &mut waiting);
        assert!(still.await.is_err());
        ended.cancel();
        assert!(!waiting.await);
    }

    #[test]
    fn debug_shows_only_the_host_of_a_url() {
        let params = ElicitRequestUrlParams::new("m", "https://host.example/?token=secret");
        let (features, visits) = (Revision::NEWEST.features(), UrlVisits::default());
        let url = UrlRequest::from_params(params, features, &visits, &Signal::new()).unwrap();
        let shown = format!("{url:?}");
        assert!(shown.contains("host.example") && !shown.contains("secret"));
    }
}
