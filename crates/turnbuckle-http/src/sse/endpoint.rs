//! The two endpoints of the transport: one opens a stream, the other takes messages for it.

use std::sync::Arc;

use bytes::Buf;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use turnbuckle_session::{Account, Dispatch, Exchange, Limits, Signal, TransportContext, serve_on};
use turnbuckle_types::Principal;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::rpc::{self, Refusal, RefusalKind};

use super::connections::{Connections, NoConnection};
use super::lanes::{Ending, Gone, lanes};
use super::stream::Stream;
use crate::body::{self, ResponseBody};
use crate::config::Config;
use crate::head::Head;
use crate::origin::Allowed;
use crate::reply::{
    Reply, accepted, crowded_head, malformed, plain, preflight, refused, share_with, stream,
    unread, wrong_method, wrong_type,
};
use crate::{event, principal};

const STREAM_METHODS: HeaderValue = HeaderValue::from_static("GET, OPTIONS");
const MESSAGE_METHODS: HeaderValue = HeaderValue::from_static("POST, OPTIONS");

/// The endpoints, shared by their requests.
pub(crate) struct Endpoint {
    exchange: Exchange,
    config: Config,
    limits: Limits,
    allowed: Allowed,
    connections: Arc<Connections>,
    shutdown: Option<Signal>,
}

impl Endpoint {
    pub(crate) fn new(
        dispatch: Arc<dyn Dispatch>,
        config: Config,
        shutdown: Option<Signal>,
    ) -> Self {
        // What was read is cut short by a shutdown alone, which has a time of its own.
        let mut limits = config.limits.clone();
        limits.drain = config.shutdown_time;
        Self {
            exchange: Exchange::new(dispatch, limits.clone()),
            limits,
            allowed: Allowed::new(config.allowed_hosts.as_deref(), &config.allowed_origins),
            connections: Connections::new(config.max_sse_connections),
            config,
            shutdown,
        }
    }

    /// How many connections are open.
    pub(crate) fn connections(&self) -> usize {
        self.connections.count()
    }

    /// Answers a request. Messages go to `messages`.
    pub(crate) async fn answer<B>(
        &self,
        request: Request<B>,
        messages: &str,
    ) -> Response<ResponseBody>
    where
        B: Body<Data: Buf>,
    {
        let (parts, body) = request.into_parts();
        let reply = self.reply(&parts, body, messages).await;
        reply.into_response(parts.headers)
    }

    async fn reply<B>(&self, parts: &Parts, body: B, messages: &str) -> Reply
    where
        B: Body<Data: Buf>,
    {
        if parts.headers.len() > self.config.max_headers {
            return crowded_head(self.config.max_headers);
        }
        let head = Head::read(&parts.headers);
        if let Err(forbidden) = self.allowed.check(head.host_of(&parts.uri), head.origin) {
            return plain(StatusCode::FORBIDDEN, &forbidden.to_string());
        }
        let principal = principal::of(&parts.extensions);
        let connection = parts.uri.query().and_then(connection_of);
        let mut reply = match (&parts.method, connection) {
            (&Method::GET, None) => self.get(parts, &head, principal, messages),
            (&Method::POST, Some(id)) => self.post(&head, body, id, principal.as_deref()).await,
            (&Method::OPTIONS, of) => preflight(&parts.headers, methods(of)),
            (_, of) => wrong_method(methods(of)),
        };
        if let Some(origin) = parts.headers.get(header::ORIGIN) {
            share_with(reply.headers_mut(), origin.clone());
        }
        reply
    }

    /// Opens a connection.
    fn get(
        &self,
        parts: &Parts,
        head: &Head<'_>,
        principal: Option<Arc<Principal>>,
        messages: &str,
    ) -> Reply {
        if !head.accepts_events {
            return plain(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream");
        }
        if self.shutdown.as_ref().is_some_and(Signal::is_closing) {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "the server shuts down");
        }
        let (inbox, page, lanes) = lanes(
            self.limits.queue_bytes,
            self.config.max_streams,
            self.too_late(),
            self.closing(),
        );
        let entry = match self.connections.admit(inbox, principal.as_deref()) {
            Ok(entry) => entry,
            Err(NoConnection::Full) => {
                return plain(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "too many connections are open (Config::max_sse_connections)",
                );
            }
            Err(NoConnection::NoRandomness) => {
                return plain(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "there is no randomness for a connection's id",
                );
            }
        };
        let first = event::endpoint(messages, &entry.id);
        let context = TransportContext {
            principal,
            shutdown: self.shutdown.clone(),
            http: crate::parts::seen(parts, self.exchange.reads_http()),
        };
        let own = Account::new(&self.limits);
        let account = self
            .exchange
            .account(context.principal.as_deref(), Some(&own));
        let pipe = serve_on(
            account,
            self.exchange.dispatch().clone(),
            lanes,
            self.limits.clone(),
            context,
            self.shutdown.clone().unwrap_or_default(),
        );
        let events = Stream::new(first, pipe, page, entry, self.config.keep_alive);
        stream(ResponseBody::connection(events))
    }

    /// When a client that opened a connection has to have said something.
    fn too_late(&self) -> Ending {
        Box::pin(tokio::time::sleep(self.config.handshake_time))
    }

    fn closing(&self) -> Ending {
        let shutdown = self.shutdown.clone();
        Box::pin(async move {
            match shutdown {
                Some(shutdown) => shutdown.closing().await,
                None => std::future::pending().await,
            }
        })
    }

    /// Takes a message for a connection, on whose stream it is answered.
    async fn post<B>(
        &self,
        head: &Head<'_>,
        body: B,
        id: &str,
        principal: Option<&Principal>,
    ) -> Reply
    where
        B: Body<Data: Buf>,
    {
        let Some(inbox) = self.connections.inbox(id, principal) else {
            return gone();
        };
        if !head.has_json_body() {
            return wrong_type();
        }
        let (max, time) = (self.config.max_body, self.config.body_time);
        let _turn = match tokio::time::timeout(time, inbox.turn()).await {
            Ok(Ok(turn)) => turn,
            Ok(Err(Gone)) => return gone(),
            Err(_) => return crowded(),
        };
        let frame = match body::read(body, head.length, max, time).await {
            Ok(frame) => frame,
            Err(why) => return unread(&why, &self.config),
        };
        let frame = match message(&frame) {
            Ok(frame) => frame,
            Err(refusal) => return *refusal,
        };
        match tokio::time::timeout(time, inbox.put(frame)).await {
            Ok(Ok(())) => accepted(),
            Ok(Err(Gone)) => gone(),
            Err(_) => crowded(),
        }
    }
}

/// The id in a query.
fn connection_of(query: &str) -> Option<&str> {
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix(event::CONNECTION_ID)?.strip_prefix('='))
}

/// What the endpoint of a request takes: with the id of a connection it is the one for messages.
fn methods(connection: Option<&str>) -> HeaderValue {
    match connection {
        Some(_) => MESSAGE_METHODS,
        None => STREAM_METHODS,
    }
}

/// A body as a frame. What cannot be a message is refused here, where its sender is told which POST
/// that was; what has an id is answered under that, on the stream, and a batch is for the revision
/// that is spoken there.
fn message(body: &[u8]) -> Result<&[u8], Box<Reply>> {
    let refuse = |refusal: &Refusal| Box::new(refused(refusal, None));
    let text = std::str::from_utf8(body)
        .map_err(|_| refuse(&malformed("not JSON: the text is not UTF-8")))?;
    if !rpc::is_batch(text)
        && let Err(refusal) = rpc::decode::<Params<'_>>(text)
        && refusal.id.is_none()
        && refusal.kind != RefusalKind::Notification
    {
        return Err(refuse(&refusal));
    }
    Ok(body.trim_ascii())
}

fn crowded() -> Reply {
    plain(
        StatusCode::SERVICE_UNAVAILABLE,
        "messages wait already (Limits::queue_bytes, Config::max_streams, Config::body_time): read \
         the stream that their answers are on",
    )
}

fn gone() -> Reply {
    plain(
        StatusCode::NOT_FOUND,
        "there is no such connection (any more)",
    )
}
