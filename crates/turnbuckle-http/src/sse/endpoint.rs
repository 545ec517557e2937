//! The two endpoints of HTTP+SSE: one opens a connection's stream, the other takes its messages.

use std::sync::Arc;

use bytes::Buf;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use tokio::time::timeout;
#[cfg(feature = "store")]
use turnbuckle_cluster::Delivery;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::internal::{
    MemoryBudget, ServerEndpoint, count_refusal, serve_with_account,
};
use turnbuckle_session::transport::{Dispatch, TransportContext};
use turnbuckle_types::{KeyRing, Principal};
use turnbuckle_wire::era::VersionHeader;
use turnbuckle_wire::revision::Revision;
use turnbuckle_wire::rpc::DecodeErrorKind;
use turnbuckle_wire::{FrameKind, classify};

#[cfg(feature = "store")]
use super::elsewhere::Elsewhere;
use crate::event;
use crate::options::HttpServerOptions;
use crate::reply::RefusalLog;
use crate::reply::ResponseBody;
#[cfg(feature = "store")]
use crate::reply::store_reply;
use crate::reply::{
    HttpReply, accepted_reply, allow_origin, body_error_reply, check_head, error_reply,
    exceeded_reply, limit_reply, method_not_allowed, preflight_reply, refusal_reply, stream_reply,
    too_fast_reply, unsupported_media_type,
};
use crate::request::body;
use crate::request::head::RequestHeaders;
use crate::request::origin::OriginPolicy;
use crate::request::principal;
use crate::request::trusted_proxies::TrustedProxies;
use crate::shares::{Clients, ConnectionInfo, ShareLimits, find_address};
use crate::streams::sse_connections::{
    ConnectionClosed, ConnectionTable, EndOfInput, OpenConnectionError, PushError, SseStream,
    open_transport,
};

const STREAM_METHODS: HeaderValue = HeaderValue::from_static("GET, OPTIONS");
const MESSAGE_METHODS: HeaderValue = HeaderValue::from_static("POST, OPTIONS");

/// The stream endpoint and the message endpoint of one HTTP+SSE server, shared by all its requests.
pub(crate) struct SseEndpoints {
    server: ServerEndpoint,
    config: HttpServerOptions,
    limits: Limits,
    allowed: OriginPolicy,
    proxies: TrustedProxies,
    connections: Arc<ConnectionTable>,
    clients: Clients,
    pub(super) shutdown: Arc<Signal>,
    /// The other instances of the server, if it has a store.
    #[cfg(feature = "store")]
    elsewhere: Option<Elsewhere>,
}

impl SseEndpoints {
    pub(crate) fn new(
        dispatch: Arc<dyn Dispatch>,
        config: HttpServerOptions,
        shutdown: Arc<Signal>,
        budget: Arc<MemoryBudget>,
    ) -> Self {
        // What was read is cut short by a shutdown alone, which has a time of its own.
        let mut limits = config.limits.clone();
        limits.drain_timeout = config.timeouts.shutdown_timeout;
        let server = ServerEndpoint::in_budget(dispatch, limits.clone(), budget);
        #[cfg(feature = "store")]
        let instance = server.cluster().map(|cluster| cluster.instance().clone());
        #[cfg(not(feature = "store"))]
        let instance = None;
        let max = config.http_limits.max_sse_connections;
        let connections = ConnectionTable::new(ShareLimits::new(max, &config.shares), instance);
        Self {
            #[cfg(feature = "store")]
            elsewhere: server.cluster().map(|cluster| {
                let timeout = config.timeouts.body_timeout;
                Elsewhere::new(cluster.clone(), connections.clone(), timeout)
            }),
            server,
            limits,
            allowed: OriginPolicy::new(&config),
            proxies: TrustedProxies::new(&config),
            connections,
            clients: Clients::new(&config.shares),
            config,
            shutdown,
        }
    }

    /// Returns the keys of the server, if it has any.
    pub(crate) fn keys(&self) -> Option<&KeyRing> {
        self.server.keys()
    }

    /// Returns the scopes that the items of the server require.
    pub(crate) fn scopes(&self) -> Vec<String> {
        self.server.scopes()
    }

    /// Returns the number of open connections.
    pub(crate) fn connection_count(&self) -> usize {
        self.connections.count()
    }

    /// Answers one HTTP request to either endpoint. `messages` is the URI reference of the message
    /// endpoint, which the first event of each stream (`endpoint`) names. `connection` is the request's
    /// connection, if that is known.
    pub(crate) async fn answer<B>(
        &self,
        request: Request<B>,
        messages: &str,
        connection: Option<&ConnectionInfo>,
    ) -> Response<ResponseBody>
    where
        B: Body<Data: Buf>,
    {
        let (mut parts, body) = request.into_parts();
        if connection.is_none() {
            self.proxies.show_client(&mut parts);
        }
        let refusals = RefusalLog::start(&self.server);
        let reply = self.reply(&parts, body, messages, connection).await;
        refusals.record(&reply, &parts.extensions, connection);
        reply.into_response(parts.headers)
    }

    async fn reply<B>(
        &self,
        parts: &Parts,
        body: B,
        messages: &str,
        connection: Option<&ConnectionInfo>,
    ) -> HttpReply
    where
        B: Body<Data: Buf>,
    {
        let head = match check_head(parts, &self.config, &self.allowed) {
            Ok(head) => head,
            Err(refusal) => return *refusal,
        };
        let principal = principal::from_extensions(&parts.extensions);
        let id = parts.uri.query().and_then(connection_id);
        let mut reply = match (&parts.method, id) {
            (&Method::GET, None) => self.get(parts, &head, principal, messages, connection),
            #[cfg(feature = "store")]
            (&Method::POST, Some(id)) if self.owner_of(id).is_some() => {
                Box::pin(self.post_elsewhere(parts, &head, body, id, connection)).await
            }
            (&Method::POST, Some(id)) => self.post(&head, body, id, principal.as_deref()).await,
            (&Method::OPTIONS, id) => preflight_reply(&parts.headers, methods(id)),
            (_, id) => method_not_allowed(methods(id)),
        };
        if let Some(origin) = parts.headers.get(header::ORIGIN) {
            allow_origin(reply.headers_mut(), origin.clone());
        }
        reply
    }

    /// Opens a connection, whose stream is the response.
    fn get(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        principal: Option<Arc<Principal>>,
        messages: &str,
        connection: Option<&ConnectionInfo>,
    ) -> HttpReply {
        if !head.accepts_events {
            return error_reply(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream");
        }
        if self.shutdown.is_closing() {
            return error_reply(
                StatusCode::SERVICE_UNAVAILABLE,
                "the server is shutting down",
            );
        }
        let client = self
            .clients
            .identify(principal.as_deref(), &parts.extensions, connection);
        let account = self
            .clients
            .connection_account(&self.server, &parts.extensions, connection);
        let owner = self
            .server
            .account(principal.as_deref(), account.as_deref());
        if let Err(error) = self.clients.admit_handshake(client, &owner) {
            return too_fast_reply(&error);
        }
        let account = self
            .server
            .session_account(principal.as_deref(), account.as_deref());
        let (queue, buffer, transport) = open_transport(
            account.clone(),
            self.limits.max_queue_bytes,
            self.config.http_limits.max_streams,
            self.handshake_deadline(),
            self.shutdown_started(),
        );
        let entry = match self.connections.insert(queue, principal.as_deref(), client) {
            Ok(entry) => entry,
            Err(OpenConnectionError::TooMany(exceeded)) => {
                return exceeded_reply(exceeded, "connections", "HttpLimits::max_sse_connections");
            }
            Err(OpenConnectionError::RandomnessUnavailable) => {
                return error_reply(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "the system has no randomness for a connection's id",
                );
            }
        };
        let first = event::endpoint(messages, &entry.id);
        let context = TransportContext {
            principal,
            shutdown: Some(Signal::clone(&self.shutdown)),
            address: find_address(&parts.extensions, connection).map(|it| it.0),
            http: crate::request::captured::capture(parts, self.server.http_needs(), None),
        };
        let served = serve_with_account(
            account,
            self.server.dispatch().clone(),
            transport,
            self.limits.clone(),
            context,
            Signal::clone(&self.shutdown),
        );
        let interval = self.config.timeouts.keep_alive_interval;
        let stream = SseStream::new(first, served, buffer, entry, interval);
        stream_reply(ResponseBody::sse_connection(stream))
    }

    /// Returns a future that ends when a new connection must have sent its first message.
    fn handshake_deadline(&self) -> EndOfInput {
        let deadline = tokio::time::sleep(self.config.timeouts.handshake_timeout);
        Box::pin(async move {
            deadline.await;
            count_refusal("HttpTimeouts::handshake_timeout");
        })
    }

    /// Returns a future that ends when the server begins to shut down.
    fn shutdown_started(&self) -> EndOfInput {
        let shutdown = self.shutdown.clone();
        Box::pin(async move { shutdown.closing().await })
    }

    /// Returns the other instance that has the connection of an id, if it is not this one.
    #[cfg(feature = "store")]
    fn owner_of<'a>(&self, id: &'a str) -> Option<&'a str> {
        self.elsewhere.as_ref()?.owner_of(id)
    }

    /// Takes a message for a connection that another instance has.
    #[cfg(feature = "store")]
    async fn post_elsewhere<B>(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        body: B,
        id: &str,
        connection: Option<&ConnectionInfo>,
    ) -> HttpReply
    where
        B: Body<Data: Buf>,
    {
        let Some(elsewhere) = &self.elsewhere else {
            return connection_not_found();
        };
        if !head.has_json_body() {
            return unsupported_media_type();
        }
        let principal = principal::from_extensions(&parts.extensions);
        let account = self
            .clients
            .connection_account(&self.server, &parts.extensions, connection);
        let owner = || {
            let account = self
                .server
                .account(principal.as_deref(), account.as_deref());
            account.into_owned()
        };
        let (max, limit) = (
            self.config.max_message_bytes,
            self.config.timeouts.body_timeout,
        );
        let frame = match body::read(body, head.content_length, max, limit, owner).await {
            Ok(frame) => frame,
            Err(error) => return body_error_reply(&error, &self.config),
        };
        let frame = match check_message(&frame) {
            Ok(frame) => frame,
            Err(refusal) => return *refusal,
        };
        match elsewhere.send(id, principal.as_deref(), frame).await {
            Ok(Delivery::Delivered) => accepted_reply(),
            Ok(Delivery::NotThere | Delivery::NoInstance) => connection_not_found(),
            Ok(Delivery::Unanswered) => error_reply(
                StatusCode::SERVICE_UNAVAILABLE,
                "the instance that has the connection did not take the message in time",
            ),
            Err(error) => store_reply(&error),
        }
    }

    /// Takes a message for a connection. The message is answered on the connection's stream.
    async fn post<B>(
        &self,
        head: &RequestHeaders<'_>,
        body: B,
        id: &str,
        principal: Option<&Principal>,
    ) -> HttpReply
    where
        B: Body<Data: Buf>,
    {
        let Some(queue) = self.connections.message_queue(id, principal) else {
            return connection_not_found();
        };
        if !head.has_json_body() {
            return unsupported_media_type();
        }
        let (max, limit) = (
            self.config.max_message_bytes,
            self.config.timeouts.body_timeout,
        );
        let _permit = match timeout(limit, queue.permit()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(ConnectionClosed)) => return connection_not_found(),
            Err(_) => return queue_full("HttpLimits::max_streams"),
        };
        let owner = || queue.account().clone();
        let frame = match body::read(body, head.content_length, max, limit, owner).await {
            Ok(frame) => frame,
            Err(error) => return body_error_reply(&error, &self.config),
        };
        let frame = match check_message(&frame) {
            Ok(frame) => frame,
            Err(refusal) => return *refusal,
        };
        match timeout(limit, queue.push(frame)).await {
            Ok(Ok(())) => accepted_reply(),
            Ok(Err(PushError::Closed)) => connection_not_found(),
            Ok(Err(PushError::NoMemory(exceeded))) => {
                body_error_reply(&exceeded.into(), &self.config)
            }
            Err(_) => queue_full("Limits::max_queue_bytes"),
        }
    }
}

/// Returns the id of a connection in the query of a URI.
fn connection_id(query: &str) -> Option<&str> {
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix(event::CONNECTION_ID)?.strip_prefix('='))
}

/// Returns the methods of a request's endpoint: with the id of a connection it is the one for
/// messages, without it the one for streams.
fn methods(connection: Option<&str>) -> HeaderValue {
    match connection {
        Some(_) => MESSAGE_METHODS,
        None => STREAM_METHODS,
    }
}

/// Returns a body as a frame, or the refusal of one that is not a message. An invalid message with
/// an id is not refused here: its error is sent on the stream, under that id. Whether a batch is
/// allowed depends on the revision of the connection.
fn check_message(body: &[u8]) -> Result<&[u8], Box<HttpReply>> {
    if let FrameKind::Invalid(error) = classify(body, VersionHeader::NotApplicable)
        && error.id.is_none()
        && error.kind != DecodeErrorKind::InvalidNotification
    {
        // The transport is that of the oldest revision, whose errors always have an id.
        let features = Revision::ALL[0].features();
        return Err(Box::new(refusal_reply(&error, Some(features))));
    }
    Ok(body.trim_ascii())
}

/// Returns the reply to a message that found no room in time, because of the setting `limit`.
fn queue_full(limit: &'static str) -> HttpReply {
    limit_reply(
        StatusCode::SERVICE_UNAVAILABLE,
        limit,
        "too many messages of this connection wait (Limits::max_queue_bytes, \
         HttpLimits::max_streams, HttpTimeouts::body_timeout): read its stream",
    )
}

fn connection_not_found() -> HttpReply {
    error_reply(
        StatusCode::NOT_FOUND,
        "there is no such connection, or it has ended",
    )
}
