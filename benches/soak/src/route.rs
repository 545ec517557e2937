//! The way from a client to a server: addresses, TLS, and a token.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::problem::{Problem, to_problem};
use crate::raw::SOON;

/// The bytes of a connection.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// The way from a client to a server.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) address: SocketAddr,
    /// The address of this machine that the client comes from, if not any.
    pub(crate) source: Option<Ipv4Addr>,
    pub(crate) tls: Option<TlsConnector>,
    /// The bearer token of each request.
    pub(crate) token: Option<Arc<str>>,
}

impl Route {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            source: None,
            tls: None,
            token: None,
        }
    }

    /// Speaks TLS with a server that has this certificate.
    pub(crate) fn with_certificate(mut self, certificate: Vec<u8>) -> Result<Self, Problem> {
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from(certificate);
        roots.add(certificate).map_err(to_problem)?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions();
        let config = builder.map_err(to_problem)?.with_root_certificates(roots);
        self.tls = Some(Arc::new(config.with_no_client_auth()).into());
        Ok(self)
    }

    /// Connects without TLS.
    pub(crate) async fn connect_tcp(&self) -> Result<TcpStream, Problem> {
        let socket = TcpSocket::new_v4().map_err(to_problem)?;
        if let Some(source) = self.source {
            socket.bind((source, 0).into()).map_err(to_problem)?;
        }
        let stream = timeout(SOON, socket.connect(self.address)).await;
        let stream = stream.map_err(|_| "no connection in time".to_owned())?;
        stream.map_err(to_problem)
    }

    /// Connects, by TLS if the server has a certificate.
    pub(crate) async fn connect(&self) -> Result<Box<dyn ByteStream>, Problem> {
        let stream = self.connect_tcp().await?;
        let Some(tls) = &self.tls else {
            return Ok(Box::new(stream));
        };
        let name = ServerName::from(self.address.ip());
        let stream = timeout(SOON, tls.connect(name, stream)).await;
        let stream = stream.map_err(|_| "no TLS handshake in time".to_owned())?;
        Ok(Box::new(stream.map_err(to_problem)?))
    }

    /// Returns the header of the token, with its end.
    pub(crate) fn authorization(&self) -> String {
        let token = self.token.as_deref();
        token.map_or_else(String::new, |it| format!("authorization: Bearer {it}\r\n"))
    }
}
