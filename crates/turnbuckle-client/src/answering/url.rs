//! Asking the user to go to a URL.

use std::fmt;
use std::sync::Arc;

use turnbuckle_session::Signal;
use turnbuckle_types::{ElicitAction, ElicitResult, ElicitUrlParams, Error, Json};
use turnbuckle_wire::revision::Features;

use super::Question;
use super::handler::Handler;
use super::visit::{Visit, Visits};

/// The longest URL that a user is sent to, in bytes.
const MAX_URL: usize = 8192;

pub(super) type OnUrl = Handler<UrlRequest, Consent>;

/// A URL that a server wants the user to go to.
///
/// Nothing here opens it or looks at it. Show the whole URL with its [host](Self::host) made plain,
/// and its [warnings](Self::warnings); open it only once the user agreed, in a browser whose pages
/// this program cannot look into. Agreeing is answered at once; what happens there is between the
/// user and the site.
///
/// Specification: client/elicitation, "Safe URL Handling" (2026-07-28).
#[derive(Clone)]
#[non_exhaustive]
pub struct UrlRequest {
    /// Why the user should go there, in the server's words.
    pub message: String,
    /// Where to go: an `http` or `https` URL.
    pub url: String,
    /// The host that it leads to, without port and credentials, in lower case.
    pub host: String,
    /// What about the URL may mislead.
    pub warnings: Vec<UrlWarning>,
    visit: Option<Arc<Visit>>,
}

/// What about a URL may mislead a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlWarning {
    /// Its host holds letters in Punycode (`xn--`), which may look like others when shown.
    Punycode,
    /// Its host holds letters outside ASCII, which may look like others.
    NotAscii,
    /// It has credentials before its host, which may look like a host.
    Credentials,
    /// It is not encrypted and leads to another machine.
    Unencrypted,
}

impl fmt::Display for UrlWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Punycode => "the host is written in Punycode and may imitate another",
            Self::NotAscii => "the host has letters that may imitate others",
            Self::Credentials => "what stands before the @ is not the host",
            Self::Unencrypted => "the connection is not encrypted",
        })
    }
}

/// What the user says to a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Goes there.
    Accept,
    /// Refuses.
    Decline,
    /// Closed the question without a choice.
    Cancel,
}

impl UrlRequest {
    pub(super) fn admit(
        params: ElicitUrlParams,
        features: &Features,
        visits: &Visits,
        ended: &Signal,
    ) -> Result<Self, Error> {
        let (host, warnings) = read(&params.url)
            .map_err(|reason| Error::invalid_params(format!("the URL {reason}")))?;
        // Where nothing can be announced, an id means nothing.
        let id = params.elicitation_id.filter(|_| features.elicitation_id);
        Ok(Self {
            message: params.message,
            url: params.url,
            host,
            warnings,
            visit: id.map(|id| visits.begin(id, ended.clone())),
        })
    }

    /// The id under which the server may announce that the visit is over.
    #[must_use]
    pub fn elicitation_id(&self) -> Option<&str> {
        self.visit.as_ref().map(|visit| visit.id())
    }

    /// Waits until the server announces that what the URL was for is done: true then. False as soon
    /// as it cannot: the revision has no such announcement, or the connection is gone. A server need
    /// not announce it, so this wants a deadline.
    pub async fn completed(&self) -> bool {
        match &self.visit {
            Some(visit) => visit.completed().await,
            None => false,
        }
    }
}

/// Shows the host alone: the rest of a URL may hold what a log should not.
impl fmt::Debug for UrlRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UrlRequest")
            .field("host", &self.host)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

/// Puts a URL before its handler.
pub(super) async fn answer(
    handler: &OnUrl,
    url: UrlRequest,
    question: Question,
) -> Result<ElicitResult, Error> {
    Ok(match handler.run(url, question).await? {
        Consent::Accept => ElicitResult::consent(),
        Consent::Decline => ElicitResult::decline(),
        Consent::Cancel => ElicitResult::cancel(),
    })
}

/// Whether an answer says that the user agreed.
pub(super) fn agreed(answer: &Json) -> bool {
    answer
        .decode::<ElicitResult>()
        .is_ok_and(|result| result.action == ElicitAction::Accept)
}

/// The host of a URL that a user may be sent to, and what about it may mislead. What browsers are
/// known to read in another way than it looks is refused.
fn read(url: &str) -> Result<(String, Vec<UrlWarning>), &'static str> {
    if url.len() > MAX_URL {
        return Err("is too long");
    }
    if url.chars().any(deceives) {
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
    let host = host_of(place).ok_or("has no host")?.to_lowercase();
    let mut warnings = Vec::new();
    if host.split('.').any(|label| label.starts_with("xn--")) {
        warnings.push(UrlWarning::Punycode);
    }
    if !host.is_ascii() {
        warnings.push(UrlWarning::NotAscii);
    }
    if credentials {
        warnings.push(UrlWarning::Credentials);
    }
    if !encrypted && !is_here(&host) {
        warnings.push(UrlWarning::Unencrypted);
    }
    Ok((host, warnings))
}

/// What stands between credentials and port.
fn host_of(place: &str) -> Option<&str> {
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
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            let letter = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
            !host.trim_matches('.').is_empty() && host.chars().all(letter)
        }
    };
    (port_is_one && host_is_one).then_some(host)
}

/// Whether a host is this machine.
fn is_here(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Characters that are not seen, turn the text around them, or are read as others by browsers.
fn deceives(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '\\' | '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use turnbuckle_wire::revision::Revision;

    use super::UrlWarning::{Credentials, NotAscii, Punycode, Unencrypted};
    use super::*;

    // requirement: 654dee8d985b
    #[test]
    fn the_host_is_told_with_what_may_mislead() {
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
            ("http://[::1]:80/", "[::1]", none),
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
            ("https://аррӏе.com/", "аррӏе.com", &[NotAscii]),
            (
                "https://bank.example@evil.example/",
                "evil.example",
                &[Credentials],
            ),
            ("https://a@b@c.example/", "c.example", &[Credentials]),
        ] {
            assert_eq!(read(url), Ok((host.to_owned(), warnings.to_vec())), "{url}");
        }
    }

    #[test]
    fn what_browsers_may_read_in_another_way_is_no_url() {
        let long = format!("https://a/{}", "x".repeat(MAX_URL));
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
            "https://a\u{3002}com/",
            &long,
        ] {
            assert!(read(url).is_err(), "{url}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_announcement_reaches_who_waits_for_that_visit() {
        let (visits, ended) = (Visits::default(), Signal::new());
        let request_in = |revision: Revision, id: Option<&str>| {
            let mut params = ElicitUrlParams::new("m", "https://a/");
            params.elicitation_id = id.map(Into::into);
            UrlRequest::admit(params, revision.features(), &visits, &ended).unwrap()
        };
        let request = |id| request_in(Revision::NEWEST_LEGACY, id);
        let announce = |id: &str| {
            visits.completed(&format!(
                r#"{{"method":"x","params":{{"elicitationId":"{id}"}}}}"#
            ));
        };
        let (one, two, unnamed) = (request(Some("1")), request(Some("2")), request(None));
        announce("0");
        announce("1");
        visits.completed("{}");
        assert!(one.completed().await);
        assert!(!unnamed.completed().await);
        // Where there is no announcement nobody waits for one.
        let modern = request_in(Revision::NEWEST, Some("3"));
        assert_eq!(modern.elicitation_id(), None);
        let none = tokio::time::timeout(Duration::from_secs(9), modern.completed());
        assert_eq!(none.await, Ok(false));
        let mut waiting = std::pin::pin!(two.completed());
        let still = tokio::time::timeout(Duration::from_secs(9), &mut waiting);
        assert!(still.await.is_err());
        ended.cancel();
        assert!(!waiting.await);
    }

    #[test]
    fn nothing_of_a_url_but_its_host_is_in_a_log() {
        let params = ElicitUrlParams::new("m", "https://host.example/?token=secret");
        let (features, visits) = (Revision::NEWEST.features(), Visits::default());
        let url = UrlRequest::admit(params, features, &visits, &Signal::new()).unwrap();
        let shown = format!("{url:?}");
        assert!(shown.contains("host.example") && !shown.contains("secret"));
    }
}
