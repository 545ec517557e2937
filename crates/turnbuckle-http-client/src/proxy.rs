//! Proxies of the environment, and tunnels through them.

use std::future::{Ready, ready};
use std::io;
use std::net::IpAddr;
use std::task::{Context, Poll};

use http::header::PROXY_AUTHORIZATION;
use http::{HeaderMap, Uri};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tower_service::Service;
use turnbuckle_types::base::host;

use crate::connector::{Stream, is_secure};
use crate::error::ClientError;

/// The port of a SOCKS proxy whose URL has none.
const SOCKS_PORT: u16 = 1080;

/// The rules that decide which proxy leads to a server.
pub(crate) struct Proxies(Option<Matcher>);

impl Proxies {
    /// Uses no proxy.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in capitals or not.
    pub(crate) fn from_env() -> Self {
        Self(Some(Matcher::from_env()))
    }

    #[cfg(test)]
    pub(crate) fn new(matcher: Matcher) -> Self {
        Self(Some(matcher))
    }

    /// Returns the proxy for requests to `target`. A host that is this machine has none.
    pub(crate) fn find(&self, target: &Uri) -> Option<Proxy> {
        let matcher = self.0.as_ref()?;
        if target.host().is_none_or(host::is_loopback) {
            return None;
        }
        let intercept = matcher.intercept(target)?;
        let uri = intercept.uri();
        let (kind, uri) = match uri.scheme_str() {
            Some("socks5") => (ProxyKind::Socks, with_port(uri, SOCKS_PORT, None)?),
            Some("socks5h") => (ProxyKind::SocksWithNames, with_port(uri, SOCKS_PORT, None)?),
            Some("http" | "https") if is_secure(target) => (ProxyKind::Tunnel, uri.clone()),
            Some("http" | "https") => (ProxyKind::Forward, uri.clone()),
            _ => (ProxyKind::Unsupported, uri.clone()),
        };
        Some(Proxy {
            kind,
            uri,
            intercept,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProxyKind {
    /// A proxy that reads requests and sends them on.
    Forward,
    /// A proxy that opens a tunnel with `CONNECT`.
    Tunnel,
    /// A SOCKS 5 proxy that is given addresses.
    Socks,
    /// A SOCKS 5 proxy that is given names.
    SocksWithNames,
    /// A proxy with another protocol.
    Unsupported,
}

/// A proxy for requests to one server.
pub(crate) struct Proxy {
    kind: ProxyKind,
    uri: Uri,
    intercept: Intercept,
}

impl Proxy {
    /// Returns the URL of the proxy, without credentials.
    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Refuses a proxy whose protocol is not known.
    pub(crate) fn check(&self) -> Result<(), ClientError> {
        match self.kind {
            ProxyKind::Unsupported => Err(ClientError::Unreachable(
                "its URL must begin with http:, https:, socks5: or socks5h:".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Returns whether the proxy is given the address of the server instead of its name.
    pub(crate) fn needs_address(&self) -> bool {
        self.kind == ProxyKind::Socks
    }

    /// Returns whether the proxy reads requests, which then name the whole URL.
    pub(crate) fn is_forward(&self) -> bool {
        self.kind == ProxyKind::Forward
    }

    /// Adds the credentials for a proxy that reads requests.
    pub(crate) fn authorize(&self, headers: &mut HeaderMap) {
        if let Some(value) = self.intercept.basic_auth() {
            headers
                .entry(PROXY_AUTHORIZATION)
                .or_insert_with(|| value.clone());
        }
    }

    /// Asks the proxy behind `stream` for a tunnel to `target`, or to `address` in its place. A proxy
    /// that reads requests needs none.
    pub(crate) async fn open_tunnel(
        &self,
        stream: Box<dyn Stream>,
        target: &Uri,
        address: Option<IpAddr>,
    ) -> Result<Box<dyn Stream>, ClientError> {
        let default_port = if is_secure(target) { 443 } else { 80 };
        let target = with_port(target, default_port, address).ok_or(ClientError::InvalidUrl)?;
        let proxy = self.uri.clone();
        let tunnel = match self.kind {
            ProxyKind::Forward | ProxyKind::Unsupported => return Ok(stream),
            ProxyKind::Tunnel => {
                let mut tunnel = Tunnel::new(proxy, OpenedStream(Some(stream)));
                if let Some(value) = self.intercept.basic_auth() {
                    tunnel = tunnel.with_auth(value.clone());
                }
                tunnel
                    .call(target)
                    .await
                    .map_err(|error| ClientError::unreachable(&error))
            }
            ProxyKind::Socks | ProxyKind::SocksWithNames => {
                let mut socks = SocksV5::new(proxy, OpenedStream(Some(stream)));
                if let Some((user, password)) = self.intercept.raw_auth() {
                    socks = socks.with_auth(user.to_owned(), password.to_owned());
                }
                socks
                    .call(target)
                    .await
                    .map_err(|error| ClientError::unreachable(&error))
            }
        };
        Ok(tunnel?.into_inner())
    }
}

/// Returns the origin of a URL with its port, or with `port`, and with another host if `address` is
/// given.
fn with_port(uri: &Uri, port: u16, address: Option<IpAddr>) -> Option<Uri> {
    let port = uri.port_u16().unwrap_or(port);
    let authority = match address {
        Some(IpAddr::V6(address)) => format!("[{address}]:{port}"),
        Some(IpAddr::V4(address)) => format!("{address}:{port}"),
        None => format!("{}:{port}", uri.host()?),
    };
    let builder = Uri::builder().scheme(uri.scheme()?.clone());
    let built = builder.authority(authority).path_and_query("/").build();
    built.ok()
}

/// A connector for an open connection.
struct OpenedStream(Option<Box<dyn Stream>>);

impl Service<Uri> for OpenedStream {
    type Response = TokioIo<Box<dyn Stream>>;
    type Error = io::Error;
    type Future = Ready<io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let stream = self.0.take().map(TokioIo::new);
        ready(stream.ok_or_else(|| io::ErrorKind::NotConnected.into()))
    }
}
