//! The URL of a server, and URLs within its origin.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use http::{HeaderValue, Uri};
use turnbuckle_http_client::InvalidPem;
use turnbuckle_types::base::host::is_loopback;
use url::Url;

/// The reason why a connector cannot be built from its arguments. The text holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConnectorError(Cow<'static, str>);

impl ConnectorError {
    pub(crate) fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(reason.into())
    }
}

impl From<InvalidPem> for ConnectorError {
    fn from(error: InvalidPem) -> Self {
        Self::new(error.to_string())
    }
}

/// The prefix of a server on a Unix socket.
const UNIX: &str = "unix:";

/// The path of the endpoint on a Unix socket, unless the target has one.
const DEFAULT_PATH: &str = "/mcp";

/// The URL of an HTTP server, or the socket and the path of one on a Unix socket. `Display` leaves
/// out the query, which may contain a secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Target {
    url: Url,
    uri: Uri,
    host: HeaderValue,
    /// The Unix socket that the server listens on, under the URL's host `localhost`.
    socket: Option<Arc<Path>>,
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Self, ConnectorError> {
        if let Some(target) = text.trim().strip_prefix(UNIX) {
            return Self::parse_unix(target);
        }
        let url = Url::parse(text.trim());
        let url = url.map_err(|error| ConnectorError::new(format!("this is no URL: {error}")))?;
        Self::from_url(url, None)
    }

    /// Parses `/run/mcp.sock` or `/run/mcp.sock:/mcp`: the path of a socket, and of the endpoint.
    fn parse_unix(target: &str) -> Result<Self, ConnectorError> {
        if cfg!(not(unix)) {
            return Err(ConnectorError::new("this system has no Unix sockets"));
        }
        let (socket, path) = match target.rfind(":/") {
            Some(at) => (&target[..at], &target[at + 1..]),
            None => (target, DEFAULT_PATH),
        };
        if socket.is_empty() {
            return Err(ConnectorError::new(
                "a Unix socket is unix:SOCKET or unix:SOCKET:PATH, as in unix:/run/mcp.sock:/mcp",
            ));
        }
        let url = Url::parse("http://localhost").and_then(|host| host.join(path));
        let url = url.map_err(|error| ConnectorError::new(format!("no path ({error})")))?;
        if url.host_str() != Some("localhost") {
            return Err(ConnectorError::new(
                "the path of a Unix socket begins with one /",
            ));
        }
        Self::from_url(url, Some(Path::new(socket).into()))
    }

    /// Resolves a reference.
    ///
    /// # Errors
    /// Fails when the result has another origin.
    pub(crate) fn resolve(&self, reference: &str) -> Result<Self, ConnectorError> {
        let url = self.url.join(reference);
        let url = url.map_err(|error| ConnectorError::new(format!("no URL ({error})")))?;
        if url.origin() != self.url.origin() {
            let origin = url.origin().ascii_serialization();
            return Err(ConnectorError::new(format!("another origin ({origin})")));
        }
        Self::from_url(url, self.socket.clone())
    }

    /// Returns the URL of a server that is not behind a Unix socket.
    pub(crate) fn url(&self) -> Option<&str> {
        self.socket.is_none().then(|| self.url.as_str())
    }

    /// Returns the Unix socket that the server listens on.
    pub(crate) fn socket(&self) -> Option<&Arc<Path>> {
        self.socket.as_ref()
    }

    pub(crate) fn uri(&self) -> Uri {
        self.uri.clone()
    }

    /// Returns the value of the `Host` header.
    pub(crate) fn host(&self) -> HeaderValue {
        self.host.clone()
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Returns whether the host is this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        self.url.host_str().is_some_and(is_loopback)
    }

    fn from_url(url: Url, socket: Option<Arc<Path>>) -> Result<Self, ConnectorError> {
        if !matches!(url.scheme(), "http" | "https") {
            let scheme = url.scheme();
            let reason = format!("the URL begins with {scheme}: instead of http: or https:");
            return Err(ConnectorError::new(reason));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ConnectorError::new(
                "the URL holds a user name or a password: give them in an authorization header",
            ));
        }
        let unsendable = || ConnectorError::new("the URL cannot be sent over HTTP");
        let uri: Uri = url.as_str().parse().map_err(|_| unsendable())?;
        let host = uri.authority().ok_or_else(unsendable)?.as_str();
        let host = HeaderValue::from_str(host).map_err(|_| unsendable())?;
        Ok(Self {
            url,
            uri,
            host,
            socket,
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.socket {
            Some(socket) => write!(f, "{UNIX}{}:", socket.display())?,
            None => f.write_str(&self.url.origin().ascii_serialization())?,
        }
        f.write_str(self.url.path())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_shown_without_its_query() {
        let target = Target::parse(" https://Example.com:443/mcp?key=secret#part ").unwrap();
        assert_eq!(target.to_string(), "https://example.com/mcp");
        assert_eq!(format!("{target:?}"), "https://example.com/mcp");
        assert_eq!(target.uri(), "https://example.com/mcp?key=secret");
        assert!(target.is_secure());
    }

    #[cfg(unix)]
    #[test]
    fn a_unix_socket_is_a_path_and_the_path_of_the_endpoint() {
        for (text, shown, uri) in [
            ("unix:/run/m.sock", "unix:/run/m.sock:/mcp", "/mcp"),
            ("unix:/run/m.sock:/a/b", "unix:/run/m.sock:/a/b", "/a/b"),
            ("unix:m:n.sock:/", "unix:m:n.sock:/", "/"),
            (
                "unix:m.sock:/x?key=secret",
                "unix:m.sock:/x",
                "/x?key=secret",
            ),
        ] {
            let target = Target::parse(text).unwrap();
            assert_eq!(target.to_string(), shown);
            assert_eq!(target.uri().to_string(), format!("http://localhost{uri}"));
            assert!(target.is_loopback() && !target.is_secure());
            let beside = target.resolve("/other").unwrap();
            assert_eq!(beside.socket(), target.socket());
        }
        for text in ["unix:", "unix::/mcp", "unix:m.sock://evil.example/"] {
            assert!(Target::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn this_machine_is_known() {
        for (host, here) in [
            ("localhost:80", true),
            ("LOCALHOST", true),
            ("app.localhost", true),
            ("127.1.2.3", true),
            ("[::1]:3000", true),
            ("notlocalhost", false),
            ("localhost.example", false),
            ("10.0.0.1", false),
            ("[::2]", false),
        ] {
            let target = Target::parse(&format!("http://{host}/")).unwrap();
            assert_eq!(target.is_loopback(), here, "{host}");
        }
    }

    #[test]
    fn invalid_urls_are_refused_without_repeating_secrets() {
        for (text, expected) in [
            ("example.com/mcp", "no URL"),
            ("", "no URL"),
            ("http://", "no URL"),
            ("ftp://example.com/", "ftp:"),
            ("file:///etc/passwd", "file:"),
            ("http://me:s3cret@example.com/", "authorization header"),
            ("http://s3cret@example.com/", "authorization header"),
        ] {
            let reason = Target::parse(text).unwrap_err().to_string();
            assert!(reason.contains(expected), "{text}: {reason}");
            assert!(!reason.contains("s3cret"), "{reason}");
        }
    }

    #[test]
    fn a_reference_stays_within_its_origin() {
        let target = Target::parse("http://localhost:3000/a/sse").unwrap();
        for (reference, uri) in [
            ("/messages?id=1", "http://localhost:3000/messages?id=1"),
            ("messages", "http://localhost:3000/a/messages"),
            ("?id=1", "http://localhost:3000/a/sse?id=1"),
            ("//LOCALHOST:3000/x", "http://localhost:3000/x"),
            ("http://localhost:3000/", "http://localhost:3000/"),
        ] {
            assert_eq!(target.resolve(reference).unwrap().uri(), uri);
        }
        for foreign in [
            "//evil.example/x",
            "https://localhost:3000/",
            "http://localhost/",
            "http://127.0.0.1:3000/",
            "\\\\evil.example/x",
            "http://localhost:3000@evil.example/",
            "http://me:pw@localhost:3000/",
            "javascript:alert(1)",
            "data:,x",
        ] {
            assert!(target.resolve(foreign).is_err(), "{foreign}");
        }
    }
}
