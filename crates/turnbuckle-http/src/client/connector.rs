//! The connector to a server at a URL.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Uri};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;
use turnbuckle_http_client::TlsSettings;
use turnbuckle_session::transport::{Connector, Inbox, LinkError, LinkKind, OpenFuture, UserWaits};
use turnbuckle_types::base::debug_fields;

use super::default_client;
use super::http_client::HttpClient;
use super::link_state::LinkState;
use super::options::HttpClientOptions;
use super::remote_server::RemoteServer;
use super::request_body::ClientRequestBody;
use super::response_body::ClientResponseBody;
use super::sse_connector::SseConnector;
use super::streamable_link::StreamableLink;
use super::target::{ConnectorError, Target};

/// A layer around an HTTP client.
type ClientLayer = Arc<dyn Fn(HttpClient) -> HttpClient + Send + Sync>;

/// A connector to the server at a URL over Streamable HTTP. Its [`Connector::fallback`] is the
/// HTTP+SSE of the first revision.
///
/// Redirects are followed within the URL's origin; nothing is ever sent to another origin. The links
/// need a tokio runtime with time and I/O.
///
/// Specification: basic/transports/streamable-http (2026-07-28), basic/transports (2025-11-25).
#[derive(Clone)]
pub struct HttpConnector {
    target: Target,
    headers: HeaderMap,
    options: HttpClientOptions,
    tls: TlsSettings,
    base_client: Option<HttpClient>,
    layers: Vec<ClientLayer>,
    /// The times in which requests wait for their user, as the layers report them.
    user_waits: UserWaits,
    /// The client with its layers, built when the first link is opened.
    client: Arc<OnceLock<HttpClient>>,
}

impl HttpConnector {
    /// Creates a connector to the endpoint at `url`, such as `https://example.com/mcp`. On Unix,
    /// `unix:/run/mcp.sock:/mcp` is the endpoint at `/mcp` behind a Unix socket; without a path it is
    /// `/mcp`.
    ///
    /// # Errors
    /// Fails when `url` is no URL of HTTP, or holds a user name or a password.
    pub fn new(url: &str) -> Result<Self, ConnectorError> {
        Ok(Self {
            target: Target::parse(url)?,
            headers: HeaderMap::new(),
            options: HttpClientOptions::default(),
            tls: TlsSettings::default(),
            base_client: None,
            layers: Vec::new(),
            user_waits: UserWaits::new(),
            client: Arc::default(),
        })
    }

    /// Returns the URL of the server in its normal form, with its query, which may hold a secret.
    /// `None` for a server behind a Unix socket.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.target.url()
    }

    /// Adds a header to every request, such as `authorization`. Its value is treated as a secret and
    /// never shown. A name that is added twice is sent twice. Headers of the transport itself take
    /// precedence.
    ///
    /// A connector with such headers refuses to connect to another machine without encryption, unless
    /// [`HttpClientOptions::allow_unencrypted_headers`] is set. `User-Agent` is no secret.
    ///
    /// # Errors
    /// Fails when the header cannot be sent, or belongs to the framing of HTTP.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, ConnectorError> {
        let refused = |why| ConnectorError::new(format!("the header {name:?} {why}"));
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

    /// Sets the options of its links.
    #[must_use]
    pub fn options(mut self, options: HttpClientOptions) -> Self {
        self.options = options;
        self.with_new_client()
    }

    /// Sets the time that opening a connection may take.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = timeout;
        self.with_new_client()
    }

    /// Trusts the certificates in this PEM text beside those of the system.
    ///
    /// # Errors
    /// Fails when the text holds no certificate.
    pub fn ca_certificate_pem(mut self, pem: &[u8]) -> Result<Self, ConnectorError> {
        self.tls.add_roots(pem)?;
        Ok(self.with_new_client())
    }

    /// Sets the client's own certificate. The PEM text holds it, its issuers, and its private key.
    ///
    /// # Errors
    /// Fails when the text holds no certificate or no key.
    pub fn client_identity_pem(mut self, pem: &[u8]) -> Result<Self, ConnectorError> {
        self.tls.set_identity(pem)?;
        Ok(self.with_new_client())
    }

    /// Sends requests through this service instead of over the connector's own connections.
    #[must_use]
    pub fn http_client<S, B>(mut self, service: S) -> Self
    where
        S: Service<Request<ClientRequestBody>, Response = Response<B>>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.base_client = Some(HttpClient::new(service));
        self.with_new_client()
    }

    /// Wraps the HTTP client in a layer. The layer that was added last sees a request first.
    #[must_use]
    pub fn layer<L, B>(mut self, layer: L) -> Self
    where
        L: Layer<HttpClient> + Send + Sync + 'static,
        L::Service: Service<Request<ClientRequestBody>, Response = Response<B>>
            + Clone
            + Send
            + Sync
            + 'static,
        <L::Service as Service<Request<ClientRequestBody>>>::Error:
            Into<Box<dyn std::error::Error + Send + Sync>>,
        <L::Service as Service<Request<ClientRequestBody>>>::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.layers
            .push(Arc::new(move |inner| HttpClient::new(layer.layer(inner))));
        self.with_new_client()
    }

    /// Returns whether the URL leads to another machine without encryption.
    #[must_use]
    pub fn is_unencrypted_remote(&self) -> bool {
        !self.target.is_secure() && !self.target.is_loopback()
    }

    /// Returns the URI of the endpoint, as requests carry it.
    #[must_use]
    pub fn uri(&self) -> Uri {
        self.target.uri()
    }

    /// Sends one HTTP request as it is, for tools that write their messages themselves. It goes through
    /// the layers of the connector, which adds the headers of its own that the request lacks. No redirect
    /// is followed.
    ///
    /// # Errors
    /// Fails without the head of a response, and if the URI has another origin than the endpoint.
    pub async fn send(
        &self,
        mut request: Request<Bytes>,
    ) -> Result<Response<ClientResponseBody>, LinkError> {
        let target = self.target.resolve(&request.uri().to_string());
        let target = target.map_err(|error| LinkError::Unreachable {
            reason: format!("a request would go to {error}"),
        })?;
        let remote = self.remote()?;
        *request.uri_mut() = target.uri();
        for name in remote.headers.keys() {
            if !request.headers().contains_key(name) {
                let values = remote.headers.get_all(name).iter().cloned();
                let values = values.map(|value| (name.clone(), value));
                request.headers_mut().extend(values);
            }
        }
        Ok(remote
            .http
            .send(request.map(ClientRequestBody::from))
            .await?)
    }

    /// Refuses to send headers of the user without encryption.
    fn check_encryption(&self) -> Result<(), LinkError> {
        let mut names = self.headers.keys().filter(|name| **name != USER_AGENT);
        match names.next() {
            Some(name)
                if self.is_unencrypted_remote() && !self.options.allow_unencrypted_headers =>
            {
                Err(LinkError::Unreachable {
                    reason: format!(
                        "the header {name} would be sent to {} without encryption: use https, or \
                         set HttpClientOptions::allow_unencrypted_headers",
                        self.target
                    ),
                })
            }
            _ => Ok(()),
        }
    }

    /// Returns the connector without a client, so that it does not share connections with the
    /// connector that it was made from.
    fn with_new_client(mut self) -> Self {
        self.client = Arc::default();
        self.user_waits = UserWaits::new();
        self
    }

    /// Returns the server behind the connector's client, which is built the first time.
    pub(crate) fn remote(&self) -> Result<RemoteServer, LinkError> {
        self.check_encryption()?;
        let client = self.client.get_or_init(|| {
            let base_client = match &self.base_client {
                Some(client) => client.clone(),
                None => default_client::default_client(&self.target, &self.tls, &self.options),
            };
            if self.layers.is_empty() {
                return base_client;
            }
            let base_client = base_client.with_user_wait(self.user_waits.reporter());
            let layers = self.layers.iter();
            layers.fold(base_client, |inner, layer| layer(inner))
        });
        let mut headers = self.headers.clone();
        headers.entry(HOST).or_insert_with(|| self.target.host());
        if self.base_client.is_none() {
            let agent = HeaderValue::from_static(default_client::USER_AGENT);
            headers.entry(USER_AGENT).or_insert(agent);
        }
        Ok(RemoteServer {
            http: client.clone(),
            headers,
            options: self.options.clone(),
        })
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }
}

impl Connector for HttpConnector {
    /// Opens a link without contacting the server.
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        Box::pin(async move {
            let state = LinkState::new(self.remote()?, self.target.clone(), inbox);
            Ok(Arc::new(StreamableLink::new(state)) as Arc<_>)
        })
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Exchange
    }

    fn fallback(&self) -> Option<Arc<dyn Connector>> {
        Some(Arc::new(SseConnector::new(self.clone())))
    }

    fn description(&self) -> String {
        self.target.to_string()
    }

    fn user_waits(&self) -> UserWaits {
        if self.layers.is_empty() {
            return UserWaits::default();
        }
        self.user_waits.clone()
    }
}

debug_fields!(HttpConnector {
    target,
    headers = |it| it.headers.keys().cloned().collect::<Vec<_>>(),
    options,
    tls,
});
