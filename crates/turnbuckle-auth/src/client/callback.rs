//! The listener on the loopback interface that receives the redirect of a login.
//!
//! A minimal HTTP/1.1 server: it answers the redirect of its login with a fixed page, redirects of
//! other logins with 400, and everything else with 404. The login's user interfaces own it ([`super::interaction`]).
//!
//! Specification: RFC 8252, sections 7.3 and 8.3.

mod request;

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use turnbuckle_types::base::host::is_loopback;
use url::{Host, Url};

use crate::error::{AuthError, AuthErrorKind};
pub(crate) use request::has_state;
use request::{MAX_HEAD_BYTES, RedirectTarget, RequestKind};

/// The time that a login may take.
pub(crate) const DEFAULT_LOGIN_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// The time for one request and its response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of connections that a login accepts.
const MAX_REQUESTS: usize = 32;

/// The path of the redirect URI, unless a setting names another.
const DEFAULT_PATH: &str = "/callback";

/// Settings of a [`CallbackListener`].
#[derive(Debug, Clone)]
pub(crate) struct CallbackSettings {
    pub(crate) login_timeout: Duration,
    pub(crate) request_timeout: Duration,
    /// The redirect URI that must be used. Without one, any free port will do.
    pub(crate) redirect_uri: Option<String>,
}

impl Default for CallbackSettings {
    fn default() -> Self {
        Self {
            login_timeout: DEFAULT_LOGIN_TIMEOUT,
            request_timeout: REQUEST_TIMEOUT,
            redirect_uri: None,
        }
    }
}

/// A listener on the loopback interface for the redirect of one login.
#[derive(Debug)]
pub(crate) struct CallbackListener {
    redirect_uri: String,
    target: Arc<RedirectTarget>,
    /// Two for `localhost`, if the system has IPv6.
    listeners: Vec<TcpListener>,
    settings: CallbackSettings,
}

impl CallbackListener {
    /// Opens a listener at the redirect URI of the settings, at the preferred one, or at a free port.
    pub(crate) async fn bind(
        settings: CallbackSettings,
        preferred: Option<&str>,
    ) -> Result<Self, AuthError> {
        if let Some(required) = &settings.redirect_uri {
            let address = LoopbackAddress::parse(required).ok_or_else(|| {
                let message = format!(
                    "the redirect URI {required:?} is not one to listen at; \
                     use http://127.0.0.1:PORT/PATH or http://localhost:PORT/PATH"
                );
                AuthError::new(AuthErrorKind::LoginUnavailable, message)
            })?;
            let listeners = address.bind().await.map_err(|error| {
                let message = format!(
                    "cannot listen at the redirect URI {required:?}; \
                     end the program that uses its port, or set another redirect URI"
                );
                AuthError::new(AuthErrorKind::LoginUnavailable, message).with_source(error)
            })?;
            let redirect_uri = required.clone();
            return Ok(Self::new(redirect_uri, address.target, listeners, settings));
        }
        if let Some(address) = preferred.and_then(LoopbackAddress::parse)
            && let Ok(listeners) = address.bind().await
        {
            let redirect_uri = preferred.unwrap_or_default().to_owned();
            return Ok(Self::new(redirect_uri, address.target, listeners, settings));
        }
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let opened = bound.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = opened.map_err(|error| {
            let message = "cannot listen on 127.0.0.1 for the redirect of the login";
            AuthError::new(AuthErrorKind::LoginUnavailable, message).with_source(error)
        })?;
        let target = RedirectTarget {
            authority: address.to_string(),
            path: DEFAULT_PATH.to_owned(),
        };
        let redirect_uri = format!("http://{address}{DEFAULT_PATH}");
        Ok(Self::new(redirect_uri, target, vec![listener], settings))
    }

    fn new(
        redirect_uri: String,
        target: RedirectTarget,
        listeners: Vec<TcpListener>,
        settings: CallbackSettings,
    ) -> Self {
        let target = Arc::new(target);
        Self {
            redirect_uri,
            target,
            listeners,
            settings,
        }
    }

    /// Returns the redirect URI for the authorization request.
    pub(crate) fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Returns the time that the login may take.
    pub(crate) fn login_timeout(&self) -> Duration {
        self.settings.login_timeout
    }

    /// Waits for the first request of the redirect URI with this `state`, and returns its query.
    ///
    /// The page is sent before the function returns. The caller limits the time.
    pub(crate) async fn wait(&self, state: &str) -> Result<String, AuthError> {
        let state: Arc<str> = state.into();
        let mut connections = JoinSet::new();
        let mut accepted = 0;
        loop {
            match self
                .next_event(&mut connections, accepted < MAX_REQUESTS)
                .await
            {
                Event::Accepted(stream) => {
                    accepted += 1;
                    if let Ok(stream) = stream {
                        let target = Arc::clone(&self.target);
                        let timeout = self.settings.request_timeout;
                        connections.spawn(serve(stream, target, state.clone(), timeout));
                    }
                }
                Event::Served(Some(query)) => return Ok(query),
                Event::Served(None) => {}
                Event::Exhausted => {
                    let message = format!(
                        "{MAX_REQUESTS} requests came to {}, and none was the redirect of the login; \
                         another program may be disturbing it; log in again",
                        self.redirect_uri
                    );
                    return Err(AuthError::new(AuthErrorKind::LoginUnavailable, message));
                }
            }
        }
    }

    async fn next_event(
        &self,
        connections: &mut JoinSet<Option<String>>,
        can_accept: bool,
    ) -> Event {
        poll_fn(|context| {
            match connections.poll_join_next(context) {
                Poll::Ready(Some(served)) => {
                    return Poll::Ready(Event::Served(served.unwrap_or_default()));
                }
                Poll::Ready(None) if !can_accept => return Poll::Ready(Event::Exhausted),
                Poll::Ready(None) | Poll::Pending => {}
            }
            if can_accept {
                for listener in &self.listeners {
                    if let Poll::Ready(accepted) = listener.poll_accept(context) {
                        return Poll::Ready(Event::Accepted(accepted.map(|(stream, _)| stream)));
                    }
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// An event of a listener.
enum Event {
    /// A connection was accepted, or the system failed to accept it.
    Accepted(io::Result<TcpStream>),
    /// A connection ended, with the query if it carried the redirect.
    Served(Option<String>),
    /// All connections that a login accepts have ended.
    Exhausted,
}

/// The loopback addresses that a redirect URI names.
struct LoopbackAddress {
    target: RedirectTarget,
    ips: Vec<IpAddr>,
    port: u16,
}

impl LoopbackAddress {
    /// Parses a redirect URI. Returns `None` if it is not an `http` URL of this computer with a port.
    fn parse(redirect_uri: &str) -> Option<Self> {
        let url = Url::parse(redirect_uri).ok()?;
        let port = url.port_or_known_default().filter(|port| *port != 0)?;
        let has_more = url.query().is_some()
            || url.fragment().is_some()
            || !url.username().is_empty()
            || url.password().is_some();
        if url.scheme() != "http" || has_more {
            return None;
        }
        let (v4, v6) = (
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        );
        let ips = match url.host()? {
            Host::Ipv4(ip) if ip.is_loopback() => vec![IpAddr::V4(ip)],
            Host::Ipv6(ip) if ip.is_loopback() => vec![IpAddr::V6(ip)],
            Host::Domain(name) if is_loopback(name) => vec![v4, v6],
            _ => return None,
        };
        let host = url.host_str()?;
        let authority = url
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let target = RedirectTarget {
            authority,
            path: url.path().to_owned(),
        };
        Some(Self { target, ips, port })
    }

    /// Listens at each of the addresses.
    ///
    /// A system without IPv6 is fine. A port that another program uses is not, even on one of two
    /// addresses: the browser could send the redirect there.
    async fn bind(&self) -> io::Result<Vec<TcpListener>> {
        let mut listeners = Vec::new();
        for ip in &self.ips {
            match TcpListener::bind(SocketAddr::new(*ip, self.port)).await {
                Ok(listener) => listeners.push(listener),
                // The system has no IPv6.
                Err(error) if !listeners.is_empty() && error.kind() != io::ErrorKind::AddrInUse => {
                }
                Err(error) => return Err(error),
            }
        }
        Ok(listeners)
    }
}

/// Serves one connection, and returns the query if it carried the redirect.
async fn serve(
    mut stream: TcpStream,
    target: Arc<RedirectTarget>,
    state: Arc<str>,
    timeout: Duration,
) -> Option<String> {
    let read = tokio::time::timeout(timeout, read_head(&mut stream));
    let head = read.await.ok()?.ok()?;
    let kind = head.map_or(RequestKind::Other, |head| target.classify(&head, &state));
    let (response, query) = match kind {
        RequestKind::Redirect(query) => (request::RESPONSE_PAGE, Some(query)),
        RequestKind::OtherLogin => (request::RESPONSE_OTHER_LOGIN, None),
        RequestKind::Other => (request::RESPONSE_NOT_FOUND, None),
    };
    // The redirect counts even if its page cannot be sent.
    let _ = tokio::time::timeout(timeout, write_all(&mut stream, response.as_bytes())).await;
    query
}

/// Reads the head of a request. Returns `None` if it is longer than [`MAX_HEAD_BYTES`].
async fn read_head(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        let mut buffer = ReadBuf::new(&mut chunk);
        poll_fn(|context| Pin::new(&mut *stream).poll_read(context, &mut buffer)).await?;
        if buffer.filled().is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let seen = head.len().saturating_sub(3);
        head.extend_from_slice(buffer.filled());
        let end = head
            .get(seen..)
            .and_then(|tail| tail.windows(4).position(|w| w == b"\r\n\r\n"));
        if let Some(end) = end {
            head.truncate(seen + end);
            return Ok((head.len() <= MAX_HEAD_BYTES).then_some(head));
        }
        if head.len() > MAX_HEAD_BYTES {
            return Ok(None);
        }
    }
}

/// Writes bytes and closes the connection's sending side.
async fn write_all(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = poll_fn(|context| Pin::new(&mut *stream).poll_write(context, bytes)).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = bytes.get(written..).unwrap_or_default();
    }
    poll_fn(|context| Pin::new(&mut *stream).poll_shutdown(context)).await
}

#[cfg(test)]
mod tests;
