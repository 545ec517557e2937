//! Opens links to the server at a URL.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;
use turnbuckle_session::{Connector, Inbox, LinkError, LinkKind, Opening};

use super::core::Core;
use super::http::{HttpClient, HttpFailure, RequestBody};
use super::link::HttpLink;
use super::options::HttpClientOptions;
use super::remote::Remote;
use super::socket::{self, Tls};
use super::sse::SseConnector;
use super::target::{InvalidTarget, Target};

/// What an HTTP client is wrapped into.
type Wrap = Arc<dyn Fn(HttpClient) -> HttpClient + Send + Sync>;

/// Reaches the server at a URL over Streamable HTTP; [`Connector::older`] reaches it over the
/// HTTP+SSE of the first revision.
///
/// Redirects are followed within the URL's origin; nothing is ever sent to another one. Its links
/// need a tokio runtime with time and I/O.
///
/// Specification: basic/transports/streamable-http (2026-07-28), basic/transports (2025-11-25).
#[derive(Clone)]
pub struct HttpConnector {
    target: Target,
    headers: HeaderMap,
    options: HttpClientOptions,
    tls: Tls,
    bottom: Option<HttpClient>,
    wraps: Vec<Wrap>,
    /// Made when the first link is opened.
    made: Arc<OnceLock<Result<HttpClient, HttpFailure>>>,
}

impl HttpConnector {
    /// A connector to the endpoint at `url`.
    ///
    /// # Errors
    /// When it is no URL of HTTP, or holds a user name or a password.
    pub fn new(url: &str) -> Result<Self, InvalidTarget> {
        Ok(Self {
            target: Target::parse(url)?,
            headers: HeaderMap::new(),
            options: HttpClientOptions::default(),
            tls: Tls::default(),
            bottom: None,
            wraps: Vec::new(),
            made: Arc::default(),
        })
    }

    /// Puts a header on every request, such as `authorization`. Its value is taken for a secret and
    /// never shown. A name that is given twice is sent twice; what the transport sends itself wins.
    ///
    /// # Errors
    /// When it cannot be sent, or frames the request.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, InvalidTarget> {
        let refused = |why| InvalidTarget::new(format!("the header {name:?} {why}"));
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| refused("has a name that cannot be sent"))?;
        if [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(&header) {
            return Err(refused("is not yours to set"));
        }
        let mut value =
            HeaderValue::from_str(value).map_err(|_| refused("has a value that cannot be sent"))?;
        value.set_sensitive(true);
        self.headers.append(header, value);
        Ok(self)
    }

    /// Sets the bounds that its links work in.
    #[must_use]
    pub fn limits(mut self, options: HttpClientOptions) -> Self {
        self.options = options;
        self.remade()
    }

    /// Sets how long a connection may take to stand.
    #[must_use]
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.options.connect_timeout = time;
        self.remade()
    }

    /// Trusts the certificates in this PEM text beside those that the system trusts.
    ///
    /// # Errors
    /// When there is none in it.
    pub fn ca_certificate_pem(mut self, pem: &[u8]) -> Result<Self, InvalidTarget> {
        self.tls.trust(pem)?;
        Ok(self.remade())
    }

    /// Shows the server a certificate: this PEM text holds it, those it was issued by, and its
    /// private key.
    ///
    /// # Errors
    /// When there is no certificate or no key in it.
    pub fn client_identity_pem(mut self, pem: &[u8]) -> Result<Self, InvalidTarget> {
        self.tls.come_as(pem)?;
        Ok(self.remade())
    }

    /// Sends requests through this service instead of over sockets of our own.
    #[must_use]
    pub fn http<S, B>(mut self, service: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.bottom = Some(HttpClient::new(service));
        self.remade()
    }

    /// Lays a layer around every request; the last one that was laid sees it first.
    #[must_use]
    pub fn layer<L, B>(mut self, layer: L) -> Self
    where
        L: Layer<HttpClient> + Send + Sync + 'static,
        L::Service:
            Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request<RequestBody>>>::Error:
            Into<Box<dyn std::error::Error + Send + Sync>>,
        <L::Service as Service<Request<RequestBody>>>::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.wraps
            .push(Arc::new(move |inner| HttpClient::new(layer.layer(inner))));
        self.remade()
    }

    /// Another connector than the one that links were opened by: it has its own connections.
    fn remade(mut self) -> Self {
        self.made = Arc::default();
        self
    }

    /// The way to the server.
    pub(crate) fn remote(&self) -> Result<Remote, LinkError> {
        let made = self.made.get_or_init(|| {
            let bottom = match &self.bottom {
                Some(bottom) => bottom.clone(),
                None => socket::client(&self.target, &self.tls, &self.options)?,
            };
            Ok(self.wraps.iter().fold(bottom, |inner, wrap| wrap(inner)))
        });
        let mut headers = self.headers.clone();
        headers.entry(HOST).or_insert_with(|| self.target.host());
        if self.bottom.is_none() {
            let agent = HeaderValue::from_static(socket::AGENT);
            headers.entry(USER_AGENT).or_insert(agent);
        }
        Ok(Remote {
            http: made.clone()?,
            headers,
            options: self.options.clone(),
        })
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }
}

impl Connector for HttpConnector {
    /// Opens a link without asking the server.
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        Box::pin(async move {
            let core = Core::new(self.remote()?, self.target.clone(), inbox);
            Ok(Arc::new(HttpLink::new(core)) as Arc<_>)
        })
    }

    fn binding(&self) -> LinkKind {
        LinkKind::Exchange
    }

    fn older(&self) -> Option<Arc<dyn Connector>> {
        Some(Arc::new(SseConnector::new(self.clone())))
    }

    fn describe(&self) -> String {
        self.target.to_string()
    }
}

impl fmt::Debug for HttpConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.keys().map(HeaderName::as_str).collect();
        f.debug_struct("HttpConnector")
            .field("target", &self.target)
            .field("headers", &names)
            .field("options", &self.options)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}
