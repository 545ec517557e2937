//! Requests and responses of the callback listener.

use url::form_urlencoded;

/// The longest head of a request, without the empty line that ends it.
pub(super) const MAX_HEAD_BYTES: usize = 8 * 1024;

/// The response to the redirect. The page shows nothing of the request.
///
/// It does not say that the login succeeded: the client still has to check `state` and the code.
pub(super) const RESPONSE_PAGE: &str = "HTTP/1.1 200 OK\r\n\
    Content-Type: text/html; charset=utf-8\r\n\
    Content-Length: 244\r\n\
    Cache-Control: no-store\r\n\
    Content-Security-Policy: default-src 'none'\r\n\
    Referrer-Policy: no-referrer\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Connection: close\r\n\
    \r\n\
    <!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Login</title></head>\n\
    <body>\n<h1>Back to the application</h1>\n<p>The application has received the answer and \
    continues the login. You can close this window.</p>\n</body>\n</html>\n";

/// The response to any other request.
pub(super) const RESPONSE_NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 10\r\n\
    Cache-Control: no-store\r\n\
    Content-Security-Policy: default-src 'none'\r\n\
    Referrer-Policy: no-referrer\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Connection: close\r\n\
    \r\n\
    Not found\n";

/// The response to a request of the redirect URI that belongs to another login.
pub(super) const RESPONSE_OTHER_LOGIN: &str = "HTTP/1.1 400 Bad Request\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 34\r\n\
    Cache-Control: no-store\r\n\
    Content-Security-Policy: default-src 'none'\r\n\
    Referrer-Policy: no-referrer\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Connection: close\r\n\
    \r\n\
    This page belongs to another login";

/// The purpose of a request to the listener.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// The redirect of the login, with its query.
    Redirect(String),
    /// A redirect with the `state` of another login, or without one.
    OtherLogin,
    /// Anything else.
    Other,
}

/// The requests that a redirect URI stands for.
#[derive(Debug)]
pub(super) struct RedirectTarget {
    /// Host and port, as the `Host` header has them.
    pub(super) authority: String,
    pub(super) path: String,
}

impl RedirectTarget {
    /// Returns the purpose of a request to a login whose authorization URL has this `state`.
    ///
    /// `head` is the head of the request without the empty line at its end.
    pub(super) fn classify(&self, head: &[u8], state: &str) -> RequestKind {
        match self.query_of(head) {
            Some(query) if has_state(query, state) => RequestKind::Redirect(query.to_owned()),
            Some(_) => RequestKind::OtherLogin,
            None => RequestKind::Other,
        }
    }

    /// Returns the query of a request, if the request is one of the redirect URI.
    fn query_of<'a>(&self, head: &'a [u8]) -> Option<&'a str> {
        let head = std::str::from_utf8(head).ok()?;
        let mut lines = head.split("\r\n");
        let mut request_line = lines.next()?.split(' ');
        let method = request_line.next()?;
        let target = request_line.next()?;
        let version = request_line.next()?;
        let is_get = method == "GET"
            && matches!(version, "HTTP/1.1" | "HTTP/1.0")
            && request_line.next().is_none();
        // A page of another site can let its name point to this computer (DNS rebinding). Its
        // requests carry that name in `Host`.
        if !is_get || !self.is_host_of(lines) {
            return None;
        }
        let (path, query) = target.split_once('?')?;
        let is_visible = query.bytes().all(|byte| byte.is_ascii_graphic());
        (path == self.path && is_visible).then_some(query)
    }

    /// Returns whether header lines have exactly one `Host`, namely this one.
    fn is_host_of<'a>(&self, lines: impl Iterator<Item = &'a str>) -> bool {
        let mut hosts = 0;
        for line in lines {
            let Some((name, value)) = line.split_once(':') else {
                return false;
            };
            if name.is_empty() || name.contains([' ', '\t']) {
                return false;
            }
            if name.eq_ignore_ascii_case("host") {
                hosts += 1;
                let value = value.trim_matches([' ', '\t']);
                if !value.eq_ignore_ascii_case(&self.authority) {
                    return false;
                }
            }
        }
        hosts == 1
    }
}

/// Returns whether a query has the parameter `state` once and with this value, as the answer to an
/// authorization request has.
pub(crate) fn has_state(query: &str, state: &str) -> bool {
    let mut states = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "state");
    states.next().is_some_and(|(_, value)| value == state) && states.next().is_none()
}
