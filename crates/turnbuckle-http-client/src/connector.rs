//! Opens connections: over TCP or a Unix socket, directly or through a proxy, with or without TLS.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tower_service::Service as _;
use turnbuckle_types::PeerAddress;

use crate::error::ClientError;
use crate::lookup::{Lookup, Resolver, system_lookup};
use crate::options::ClientOptions;
use crate::proxy::{Proxies, Proxy};

/// The time after which the system probes a quiet connection.
const TCP_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// The bytes of a connection.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// An open connection. The address is that of the proxy, if there is one.
pub(crate) struct Opened {
    pub(crate) stream: Box<dyn Stream>,
    pub(crate) address: Option<PeerAddress>,
}

/// Opens the connections of a client.
pub(crate) struct Connector {
    options: ClientOptions,
    pub(crate) proxies: Proxies,
    lookup: Lookup,
    /// Built for the first connection with TLS: reading the system's certificates takes a while.
    tls: OnceLock<Result<TlsConnector, ClientError>>,
}

impl Connector {
    pub(crate) fn new(options: ClientOptions) -> Self {
        let proxies = match options.use_env_proxy {
            true => Proxies::from_env(),
            false => Proxies::none(),
        };
        Self::with_parts(options, proxies, Arc::new(system_lookup))
    }

    pub(crate) fn with_parts(options: ClientOptions, proxies: Proxies, lookup: Lookup) -> Self {
        Self {
            options,
            proxies,
            lookup,
            tls: OnceLock::new(),
        }
    }

    /// Opens a connection to `target`. With `addresses`, the host's name is not looked up.
    pub(crate) async fn connect(
        &self,
        target: &Uri,
        proxy: Option<&Proxy>,
        addresses: Option<Vec<IpAddr>>,
    ) -> Result<Opened, ClientError> {
        let Some(timeout) = self.options.connect_timeout else {
            return self.open(target, proxy, addresses).await;
        };
        tokio::select! {
            biased;
            () = tokio::time::sleep(timeout) => Err(ClientError::ConnectTimedOut(timeout)),
            opened = self.open(target, proxy, addresses) => opened,
        }
    }

    async fn open(
        &self,
        target: &Uri,
        proxy: Option<&Proxy>,
        addresses: Option<Vec<IpAddr>>,
    ) -> Result<Opened, ClientError> {
        if let Some(socket) = &self.options.unix_socket {
            return open_unix(socket).await;
        }
        let opened = match proxy {
            None => self.open_tcp(target, self.lookup_or(addresses)).await?,
            Some(proxy) => {
                let opened = self.open_proxied(target, proxy, addresses).await;
                opened.map_err(|error| {
                    let (proxy, error) = (proxy.uri(), error.to_string());
                    ClientError::Unreachable(format!(
                        "the proxy {proxy} of the environment: {error}"
                    ))
                })?
            }
        };
        match is_secure(target) {
            true => self.start_tls(target, opened).await,
            false => Ok(opened),
        }
    }

    /// Opens a connection to a proxy, and through it to `target` unless the proxy reads requests.
    async fn open_proxied(
        &self,
        target: &Uri,
        proxy: &Proxy,
        addresses: Option<Vec<IpAddr>>,
    ) -> Result<Opened, ClientError> {
        proxy.check()?;
        let mut opened = self.open_tcp(proxy.uri(), self.lookup.clone()).await?;
        if is_secure(proxy.uri()) {
            opened = self.start_tls(proxy.uri(), opened).await?;
        }
        let address = match proxy.needs_address() {
            true => Some(self.first_address(target, addresses).await?),
            false => None,
        };
        let stream = proxy.open_tunnel(opened.stream, target, address).await?;
        Ok(Opened { stream, ..opened })
    }

    async fn open_tcp(&self, uri: &Uri, lookup: Lookup) -> Result<Opened, ClientError> {
        let mut connector = TcpConnector::new_with_resolver(Resolver(lookup));
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_keepalive(Some(TCP_KEEPALIVE_INTERVAL));
        // The connector divides this time among a name's addresses, so that the first ones leave
        // time for the others.
        connector.set_connect_timeout(self.options.connect_timeout);
        let socket = connector.call(uri.clone()).await;
        let socket = socket.map_err(|error| ClientError::unreachable(&error))?;
        let socket = socket.into_inner();
        let address = socket.peer_addr().ok();
        Ok(Opened {
            address: address.map(|address| PeerAddress::new(address.ip())),
            stream: Box::new(socket),
        })
    }

    /// Returns a lookup that always answers with `addresses`, or else the client's own.
    fn lookup_or(&self, addresses: Option<Vec<IpAddr>>) -> Lookup {
        match addresses {
            Some(addresses) => {
                Arc::new(move |_| Box::pin(std::future::ready(Ok(addresses.clone()))))
            }
            None => self.lookup.clone(),
        }
    }

    async fn first_address(
        &self,
        target: &Uri,
        addresses: Option<Vec<IpAddr>>,
    ) -> Result<IpAddr, ClientError> {
        let host = bare_host(target);
        let addresses = match (host.parse(), addresses) {
            (Ok(address), _) => Ok(vec![address]),
            (Err(_), Some(addresses)) => Ok(addresses),
            (Err(_), None) => (self.lookup)(host.to_owned()).await,
        };
        let first = addresses.and_then(|addresses| {
            let first = addresses.first().copied();
            first.ok_or_else(|| io::Error::other("the name has no address"))
        });
        first.map_err(|error| ClientError::Unreachable(format!("dns error: {error}")))
    }

    async fn start_tls(&self, uri: &Uri, opened: Opened) -> Result<Opened, ClientError> {
        let tls = self.tls.get_or_init(|| {
            let config = self.options.tls.client_config();
            let config = config.map_err(|error| ClientError::Tls(error.to_string()))?;
            Ok(TlsConnector::from(Arc::new(config)))
        });
        let name = ServerName::try_from(bare_host(uri).to_owned());
        let name = name.map_err(|error| ClientError::unreachable(&error))?;
        let stream = tls.clone()?.connect(name, opened.stream).await;
        let stream = stream.map_err(|error| {
            ClientError::Unreachable(format!("the TLS handshake failed: {error}"))
        })?;
        Ok(Opened {
            stream: Box::new(stream),
            address: opened.address,
        })
    }
}

#[cfg(unix)]
async fn open_unix(socket: &Path) -> Result<Opened, ClientError> {
    let stream = tokio::net::UnixStream::connect(socket).await;
    let stream = stream
        .map_err(|error| ClientError::Unreachable(format!("{}: {error}", socket.display())))?;
    Ok(Opened {
        stream: Box::new(stream),
        address: None,
    })
}

#[cfg(not(unix))]
async fn open_unix(_: &Path) -> Result<Opened, ClientError> {
    let reason = "this system has no Unix sockets";
    Err(ClientError::Unreachable(reason.to_owned()))
}

pub(crate) fn is_secure(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}

/// Returns the host of a URL, an IPv6 address without its brackets.
fn bare_host(uri: &Uri) -> &str {
    let host = uri.host().unwrap_or_default();
    let address = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    address.unwrap_or(host)
}
