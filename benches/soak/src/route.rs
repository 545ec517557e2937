//! The way from a client to a server: addresses, TLS, and a token.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::problem::Result;
use crate::process::{SOON, within};

/// The bytes of a connection.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> ByteStream for T {}

/// The way from a client to a server.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) address: SocketAddr,
    /// The address of this machine that the client comes from.
    pub(crate) source: Ipv4Addr,
    pub(crate) tls: Option<TlsConnector>,
    /// The bearer token of each request.
    pub(crate) token: Option<Arc<str>>,
}

impl Route {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            source: Ipv4Addr::LOCALHOST,
            tls: None,
            token: None,
        }
    }

    /// Speaks TLS with a server that has this certificate.
    pub(crate) fn with_certificate(mut self, certificate: Vec<u8>) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(certificate))?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = builder
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        self.tls = Some(Arc::new(config).into());
        Ok(self)
    }

    /// Connects without TLS.
    pub(crate) async fn connect_tcp(&self) -> Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((self.source, 0).into())?;
        within(SOON, "no connection in time", socket.connect(self.address)).await
    }

    /// Connects, by TLS if the server has a certificate.
    pub(crate) async fn connect(&self) -> Result<Box<dyn ByteStream>> {
        self.connect_by(self.tls.as_ref()).await
    }

    /// Connects for HTTP/2, which TLS negotiates by ALPN.
    pub(crate) async fn connect_http2(&self) -> Result<Box<dyn ByteStream>> {
        let connector = self.tls.as_ref().map(|tls| {
            let mut config = ClientConfig::clone(tls.config());
            config.alpn_protocols = vec![b"h2".to_vec()];
            TlsConnector::from(Arc::new(config))
        });
        self.connect_by(connector.as_ref()).await
    }

    async fn connect_by(&self, tls: Option<&TlsConnector>) -> Result<Box<dyn ByteStream>> {
        let stream = self.connect_tcp().await?;
        let Some(tls) = tls else {
            return Ok(Box::new(stream));
        };
        let name = ServerName::from(self.address.ip());
        let handshake = tls.connect(name, stream);
        Ok(Box::new(
            within(SOON, "no TLS handshake in time", handshake).await?,
        ))
    }

    /// Returns the header of the token, with its end.
    pub(crate) fn authorization(&self) -> String {
        let token = self.token.as_deref();
        token.map_or_else(String::new, |token| {
            format!("authorization: Bearer {token}\r\n")
        })
    }
}
