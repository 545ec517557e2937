//! The MCP endpoint of Streamable HTTP: checks a request's head, reads its body, and hands the message
//! to its era.

use std::pin::Pin;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Extensions, Method, Response, StatusCode};
use http_body::Body;
use turnbuckle_session::handler::Signal;
#[cfg(feature = "store")]
use turnbuckle_session::internal::ForeignMessage;
use turnbuckle_session::internal::{
    EncodedResponse, ForeignMessages, InboundFrame, OwnerAccount, ServerEndpoint,
};
use turnbuckle_session::transport::TransportContext;
use turnbuckle_types::{ErrorKind, KeyRing, Principal};
use turnbuckle_wire::era::{MessageEra, VersionHeader};
use turnbuckle_wire::revision::Revision;
use turnbuckle_wire::rpc::Message;
use turnbuckle_wire::{FrameKind, classify};

use super::pending_post::PostOutcome;
use super::session_mode::SessionMode;
use super::sessions::{HttpSession, SessionSource, SessionTable};
use super::status;
#[cfg(feature = "store")]
use super::stored::{FoundStored, StoredSessions};
use crate::options::HttpServerOptions;
use crate::reply::ResponseBody;
use crate::reply::{
    HttpReply, RefusalLog, accepted_reply, allow_origin, body_error_reply, check_head,
    counted_json_reply, error_reply, method_not_allowed, preflight_reply, refusal_reply,
    set_retry_after, unsupported_media_type,
};
use crate::request::head::RequestHeaders;
use crate::request::origin::OriginPolicy;
use crate::request::trusted_proxies::TrustedProxies;
use crate::request::{body, principal};
use crate::shares::{Client, Clients, ConnectionInfo, ShareLimits, ShareTable, find_address};
#[cfg(feature = "store")]
use crate::streams::Courier;

pub(crate) const SESSION_ID: HeaderName =
    HeaderName::from_static(turnbuckle_wire::era::headers::SESSION_ID);
const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
const ALLOWED_METHODS_STATELESS: HeaderValue = HeaderValue::from_static("POST, OPTIONS");

/// The MCP endpoint, shared by its requests.
#[derive(Debug)]
pub(crate) struct StreamableEndpoint {
    pub(crate) server: ServerEndpoint,
    pub(crate) options: Arc<HttpServerOptions>,
    pub(crate) sessions: Arc<SessionTable>,
    pub(super) mode: SessionMode,
    /// The sessions that are in the store too.
    #[cfg(feature = "store")]
    pub(super) stored: Option<Arc<StoredSessions>>,
    /// The signal that ends the streams of listening clients.
    pub(crate) shutdown: Arc<Signal>,
    pub(super) clients: Clients,
    /// The streams on which clients listen.
    pub(super) listening: Arc<ShareTable>,
    allowed: OriginPolicy,
    proxies: TrustedProxies,
}

/// The facts that tell who sent a request.
#[derive(Clone, Copy)]
pub(super) struct RequestSender<'a> {
    pub(super) principal: Option<&'a Principal>,
    pub(super) extensions: &'a Extensions,
    /// The connection, if it is known.
    pub(super) connection: Option<&'a ConnectionInfo>,
    /// The session that the request names, if it is in the store.
    pub(super) session: Option<&'a Arc<HttpSession>>,
}

impl<'a> RequestSender<'a> {
    /// Returns the sender of a request that names no session in the store.
    fn new(
        parts: &'a Parts,
        principal: Option<&'a Principal>,
        connection: Option<&'a ConnectionInfo>,
    ) -> Self {
        Self {
            principal,
            extensions: &parts.extensions,
            connection,
            session: None,
        }
    }
}

/// The session in the store that a POST belongs to.
#[derive(Clone, Copy, Default)]
struct PostSession<'a> {
    open: Option<&'a Arc<HttpSession>>,
    /// The collection of messages that are for another instance.
    foreign: Option<&'a ForeignMessages>,
}

impl StreamableEndpoint {
    pub(crate) fn new(
        server: ServerEndpoint,
        options: HttpServerOptions,
        shutdown: Arc<Signal>,
    ) -> Self {
        let options = Arc::new(options);
        let sessions = SessionTable::new(options.clone());
        sessions.evict_for(server.memory_budget());
        let mode = SessionMode::new(&server, &options);
        #[cfg(feature = "store")]
        let stored = match &mode {
            SessionMode::Stored(cluster) => {
                let (cluster, server) = (cluster.clone(), server.clone());
                let (sessions, options) = (sessions.clone(), options.clone());
                sessions.copy_streams(Courier::new(cluster.clone(), &options.replay));
                Some(StoredSessions::new(cluster, server, sessions, options))
            }
            _ => None,
        };
        let listening = options.http_limits.max_listening_streams;
        Self {
            server,
            sessions,
            mode,
            #[cfg(feature = "store")]
            stored,
            clients: Clients::new(&options.shares),
            listening: ShareTable::new(ShareLimits::new(listening, &options.shares)),
            allowed: OriginPolicy::new(&options),
            proxies: TrustedProxies::new(&options),
            options,
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

    /// Returns the client whose shares and rates a request counts on.
    pub(super) fn identify(&self, sender: RequestSender<'_>) -> Client {
        self.clients
            .identify(sender.principal, sender.extensions, sender.connection)
    }

    /// Returns the source of a session that a request opens or comes back to.
    pub(super) fn session_source<'a>(
        &self,
        sender: RequestSender<'a>,
        account: Option<&'a OwnerAccount>,
    ) -> SessionSource<'a> {
        SessionSource {
            principal: sender.principal,
            account,
            client: self.identify(sender),
        }
    }

    /// Answers a request. `connection` is its connection, if that is known.
    pub(crate) async fn answer<B>(
        &self,
        parts: &mut Parts,
        body: Pin<&mut B>,
        connection: Option<&ConnectionInfo>,
    ) -> Response<ResponseBody>
    where
        B: Body<Data: Buf>,
    {
        if connection.is_none() {
            self.proxies.show_client(parts);
        }
        let refusals = RefusalLog::start(&self.server);
        let reply = self.reply(parts, body, connection).await;
        refusals.record(&reply, &parts.extensions, connection);
        reply.into_response(std::mem::take(&mut parts.headers))
    }

    async fn reply<B>(
        &self,
        parts: &Parts,
        body: Pin<&mut B>,
        connection: Option<&ConnectionInfo>,
    ) -> HttpReply
    where
        B: Body<Data: Buf>,
    {
        let head = match check_head(parts, &self.options, &self.allowed) {
            Ok(head) => head,
            Err(refusal) => return *refusal,
        };
        let mut reply = match parts.method {
            Method::POST => {
                let reply = self.post(parts, &head, body, connection).await;
                if head.accepts_json {
                    reply
                } else {
                    reply.into_event()
                }
            }
            Method::GET | Method::DELETE if self.mode.has_streams() => {
                let principal = principal::from_extensions(&parts.extensions);
                let sender = RequestSender::new(parts, principal.as_deref(), connection);
                // On the heap, so that the future of a POST stays small.
                match parts.method {
                    Method::GET => Box::pin(self.get(&head, sender)).await,
                    _ => Box::pin(self.delete(&head, sender)).await,
                }
            }
            Method::OPTIONS => preflight_reply(&parts.headers, self.allowed_methods()),
            _ => method_not_allowed(self.allowed_methods()),
        };
        if let Some(origin) = parts.headers.get(header::ORIGIN) {
            allow_origin(reply.headers_mut(), origin.clone());
        }
        reply
    }

    fn allowed_methods(&self) -> HeaderValue {
        match self.mode.has_streams() {
            true => ALLOWED_METHODS,
            false => ALLOWED_METHODS_STATELESS,
        }
    }

    async fn post<B>(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        body: Pin<&mut B>,
        connection: Option<&ConnectionInfo>,
    ) -> HttpReply
    where
        B: Body<Data: Buf>,
    {
        if !head.has_json_body() {
            return unsupported_media_type();
        }
        if !head.accepts_json && !head.accepts_events {
            return error_reply(
                StatusCode::NOT_ACCEPTABLE,
                "accept application/json and text/event-stream",
            );
        }
        let owner = || {
            let principal = principal::from_extensions(&parts.extensions);
            let account =
                self.clients
                    .connection_account(&self.server, &parts.extensions, connection);
            let account = self
                .server
                .account(principal.as_deref(), account.as_deref());
            account.into_owned()
        };
        let (length, max) = (head.content_length, self.options.max_message_bytes);
        let timeout = self.options.timeouts.body_timeout;
        let frame = match body::read(body, length, max, timeout, owner).await {
            Ok(frame) if has_large_buffer(connection) => body::detach(frame),
            Ok(frame) => frame,
            Err(why) => return body_error_reply(&why, &self.options),
        };
        #[cfg(feature = "store")]
        if let Some(stored) = &self.stored {
            let principal = principal::from_extensions(&parts.extensions);
            let sender = RequestSender::new(parts, principal.as_deref(), connection);
            let open = match self.find_stored(head, sender) {
                FoundStored::Known(open) => open,
                FoundStored::Unsure { .. } => {
                    match Box::pin(self.restore_session(head, sender)).await {
                        Ok(open) => open,
                        Err(reply) => return *reply,
                    }
                }
            };
            return match self.post_stored(stored, parts, head, frame, connection, open) {
                Ok(reply) => reply,
                Err(unfinished) => unfinished.await,
            };
        }
        let outcome = self.handle_frame(parts, head, &frame, connection, PostSession::default());
        // A request that runs holds its frame by itself.
        drop(frame);
        match outcome {
            PostOutcome::Reply(reply) => reply,
            // On the heap, so that the future of a POST that need not wait stays small.
            PostOutcome::Pending(post) => Box::pin(post.reply()).await,
            #[cfg(feature = "store")]
            PostOutcome::Opening(opening) => Box::pin(self.open_stored(*opening)).await,
        }
    }

    /// Serves a posted frame of an endpoint whose sessions are in the store. What cannot be done at once is
    /// in the future, on the heap.
    #[cfg(feature = "store")]
    fn post_stored<'a>(
        &'a self,
        stored: &'a StoredSessions,
        parts: &'a Parts,
        head: &RequestHeaders<'_>,
        frame: Bytes,
        connection: Option<&ConnectionInfo>,
        open: Option<Arc<HttpSession>>,
    ) -> Result<HttpReply, Pin<Box<dyn Future<Output = HttpReply> + Send + 'a>>> {
        let foreign = ForeignMessages::default();
        let session = PostSession {
            open: open.as_ref(),
            foreign: open.as_ref().map(|_| &foreign),
        };
        let outcome = self.handle_frame(parts, head, &frame, connection, session);
        drop(frame);
        let messages = foreign.take();
        let has_news = |open: &Arc<_>, messages: &[ForeignMessage]| {
            !messages.is_empty() || StoredSessions::is_changed(open)
        };
        match outcome {
            PostOutcome::Reply(reply)
                if !open.as_ref().is_some_and(|it| has_news(it, &messages)) =>
            {
                Ok(reply)
            }
            outcome => Err(Box::pin(async move {
                let reply = match outcome {
                    PostOutcome::Reply(reply) => reply,
                    PostOutcome::Pending(post) => post.reply().await,
                    PostOutcome::Opening(opening) => return self.open_stored(*opening).await,
                };
                match &open {
                    Some(open) if has_news(open, &messages) => {
                        stored.finish_post(open, messages, reply).await
                    }
                    _ => reply,
                }
            })),
        }
    }

    /// Serves a posted frame. A handler that is ready at the first poll is done when this returns.
    fn handle_frame(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        frame: &Bytes,
        connection: Option<&ConnectionInfo>,
        session: PostSession<'_>,
    ) -> PostOutcome<'_> {
        let principal = principal::from_extensions(&parts.extensions);
        let is_large = has_large_buffer(connection);
        let large_head = is_large.then(|| head.bytes(&parts.method, &parts.uri));
        let transport = TransportContext {
            principal: principal.clone(),
            shutdown: Some(Signal::clone(&self.shutdown)),
            address: find_address(&parts.extensions, connection).map(|it| it.0),
            http: crate::request::captured::capture(parts, self.server.http_needs(), large_head),
        };
        let account = self
            .clients
            .connection_account(&self.server, &parts.extensions, connection);
        let inbound = |text| InboundFrame {
            frame,
            text,
            transport: &transport,
            account: account.as_deref(),
            headers: None,
            foreign: session.foreign,
        };
        let sender = RequestSender {
            session: session.open,
            ..RequestSender::new(parts, principal.as_deref(), connection)
        };
        let revision = head.mark();
        let (text, message, era) = match classify(frame, VersionHeader::Http(revision)) {
            FrameKind::Invalid(refusal) => {
                let features = self.sender_features(head, sender);
                return refusal_reply(&refusal, features).into();
            }
            FrameKind::Batch(text) => {
                return self.post_batch(head, revision, inbound(text), sender);
            }
            FrameKind::Message { text, message, era } => (text, message, era),
        };
        match (era, message) {
            (MessageEra::Modern(revision), Message::Request(request)) => self.post_modern(
                &parts.headers,
                head,
                &request,
                revision,
                inbound(text),
                sender,
            ),
            (MessageEra::Invalid(error), Message::Request(request)) => {
                let refused = self
                    .server
                    .refuse(&request, error, Revision::NEWEST, &transport);
                modern_reply(refused).into()
            }
            // A notification by POST has no effect in the modern era, and a response neither.
            (MessageEra::Modern(_) | MessageEra::Invalid(_), _) => accepted_reply().into(),
            (MessageEra::Legacy, message) => {
                self.post_legacy(head, revision, message, inbound(text), sender)
            }
        }
    }
}

/// Returns whether a request was read into a buffer that is larger than what the request counts for.
fn has_large_buffer(connection: Option<&ConnectionInfo>) -> bool {
    connection.is_some_and(ConnectionInfo::has_large_buffer)
}

/// Returns a response as plain JSON with a status. The scopes that a forbidden request lacks are
/// put into the reply's extensions, for a layer that can say how to get them. A rate-limited request
/// is told when to come again.
pub(super) fn response_reply(response: EncodedResponse, code: StatusCode) -> HttpReply {
    let EncodedResponse {
        frame,
        tail,
        failure,
        memory,
    } = response;
    let mut reply = counted_json_reply(code, frame, tail, memory);
    match failure {
        Some(ErrorKind::Forbidden(required)) => {
            reply.extensions_mut().insert(required);
        }
        Some(ErrorKind::RateLimited {
            retry_after: Some(delay),
        }) => set_retry_after(&mut reply, delay),
        _ => {}
    }
    reply
}

/// Returns the reply with a response of the modern era.
pub(crate) fn modern_reply(response: EncodedResponse) -> HttpReply {
    let code = status::modern_status(response.failure.as_ref());
    response_reply(response, code)
}

/// Returns the reply with a response of the legacy era.
pub(crate) fn legacy_reply(response: EncodedResponse) -> HttpReply {
    let code = status::legacy_status(response.failure.as_ref());
    response_reply(response, code)
}
