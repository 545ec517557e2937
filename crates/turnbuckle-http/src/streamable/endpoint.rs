//! Classifies each request once and hands it to its era.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use turnbuckle_session::{
    Answer, Delivery, Exchange, Features, Params, Route, Signal, TransportContext,
};
use turnbuckle_types::{ErrorKind, Principal};
use turnbuckle_wire::era::headers::HeaderValues;
use turnbuckle_wire::era::{Header, Mark, Opening, of_opening, write_refusal};
use turnbuckle_wire::rpc::{self, Message, Refusal, RefusalKind};

use super::sessions::Sessions;
use crate::body::{self, NoBody, ResponseBody};
use crate::config::Config;
use crate::head::Head;
use crate::origin::Allowed;
use crate::{event, status};

pub(crate) const SESSION_ID: HeaderName =
    HeaderName::from_static(turnbuckle_wire::era::headers::SESSION_ID);
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static(event::MEDIA_TYPE);
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
const METHODS_STATELESS: HeaderValue = HeaderValue::from_static("POST, OPTIONS");

/// One endpoint, shared by its requests.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) exchange: Exchange,
    pub(crate) config: Arc<Config>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) shutdown: Option<Signal>,
    allowed: Allowed,
}

pub(crate) type Reply = Response<ResponseBody>;

/// A body that was posted.
#[derive(Clone, Copy)]
pub(crate) struct Posted<'a> {
    pub(crate) frame: &'a Bytes,
    pub(crate) text: &'a str,
    pub(crate) transport: &'a TransportContext,
}

impl<'a> Posted<'a> {
    /// The body on its way, to be answered by `route`.
    pub(crate) fn delivery(self, route: &'a Arc<dyn Route>) -> Delivery<'a> {
        Delivery {
            frame: self.frame,
            text: self.text,
            route,
            transport: self.transport,
        }
    }
}

impl Endpoint {
    pub(crate) fn new(exchange: Exchange, config: Config, shutdown: Option<Signal>) -> Self {
        let config = Arc::new(config);
        Self {
            exchange,
            sessions: Sessions::new(config.clone()),
            allowed: Allowed::new(config.allowed_hosts.as_deref(), &config.allowed_origins),
            config,
            shutdown,
        }
    }

    /// Answers a request.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Reply
    where
        B: Body<Data: Buf>,
    {
        let (parts, body) = request.into_parts();
        let head = Head::read(&parts.headers);
        let host = match (head.host, parts.uri.authority()) {
            (HeaderValues::Missing, Some(host)) => HeaderValues::One(host.as_str().as_bytes()),
            (host, _) => host,
        };
        if let Err(forbidden) = self.allowed.check(host, head.origin) {
            return plain(StatusCode::FORBIDDEN, &forbidden.to_string());
        }
        let origin = parts.headers.get(header::ORIGIN).cloned();
        let principal = principal_of(&parts.extensions);
        let mut reply = match parts.method {
            Method::POST => self.post(&parts.headers, &head, body, principal).await,
            Method::GET if !self.config.stateless => self.get(&head, principal.as_deref()),
            Method::DELETE if !self.config.stateless => self.delete(&head, principal.as_deref()),
            Method::OPTIONS => self.preflight(&parts.headers),
            _ => self.wrong_method(),
        };
        if let Some(origin) = origin {
            share_with(reply.headers_mut(), origin);
        }
        reply
    }

    fn wrong_method(&self) -> Reply {
        let mut reply = plain(
            StatusCode::METHOD_NOT_ALLOWED,
            "this endpoint takes other methods",
        );
        reply.headers_mut().insert(header::ALLOW, self.methods());
        reply
    }

    fn methods(&self) -> HeaderValue {
        if self.config.stateless {
            METHODS_STATELESS
        } else {
            METHODS
        }
    }

    /// Lets a page of an allowed origin ask.
    fn preflight(&self, map: &HeaderMap) -> Reply {
        let mut reply = Response::new(ResponseBody::empty());
        *reply.status_mut() = StatusCode::NO_CONTENT;
        let headers = reply.headers_mut();
        headers.insert(header::ALLOW, self.methods());
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, self.methods());
        if let Some(wanted) = map.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        headers.insert(
            header::ACCESS_CONTROL_MAX_AGE,
            HeaderValue::from_static("3600"),
        );
        reply
    }

    async fn post<B>(
        &self,
        map: &HeaderMap,
        head: &Head<'_>,
        body: B,
        principal: Option<Arc<Principal>>,
    ) -> Reply
    where
        B: Body<Data: Buf>,
    {
        if !head.has_json_body() {
            return plain(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body must be application/json",
            );
        }
        if !head.accepts_json && !head.accepts_events {
            return plain(
                StatusCode::NOT_ACCEPTABLE,
                "accept application/json and text/event-stream",
            );
        }
        let Config {
            max_body,
            body_time,
            ..
        } = *self.config;
        let frame = match body::read(body, head.length, max_body, body_time).await {
            Ok(frame) => frame,
            Err(NoBody::TooLarge) => return self.too_large(),
            Err(NoBody::Broken) => return plain(StatusCode::BAD_REQUEST, "the body broke off"),
            Err(NoBody::Late) => {
                let message = "the body did not come in time (Config::body_time)";
                return plain(StatusCode::REQUEST_TIMEOUT, message);
            }
        };
        let refused = |refusal: &Refusal| {
            let features = self.features_of(head, principal.as_deref());
            refused(refusal, features)
        };
        let Ok(text) = std::str::from_utf8(&frame) else {
            return refused(&malformed("not JSON: the text is not UTF-8"));
        };
        let transport = TransportContext {
            principal: principal.clone(),
            shutdown: self.shutdown.clone(),
        };
        let mark = head.mark();
        let posted = Posted {
            frame: &frame,
            text,
            transport: &transport,
        };
        if rpc::is_batch(text) {
            return self.batch(head, mark, posted).await;
        }
        let message = match rpc::decode::<Params<'_>>(text) {
            Ok(message) => message,
            Err(refusal) => return refused(&refusal),
        };
        let header = Header::Carried(mark);
        let opening = match &message {
            Message::Request(request) => of_opening(header, &request.method, &request.params),
            Message::Notification(note) => of_opening(header, &note.method, &note.params),
            Message::Response(_) if matches!(mark, Mark::Modern(_)) => return accepted(),
            Message::Response(_) => Opening::Legacy,
        };
        match (opening, message) {
            (Opening::Modern(revision), Message::Request(request)) => {
                self.modern(map, head, request, revision, posted).await
            }
            (Opening::Modern(_), _) => accepted(),
            (Opening::Refused(error), Message::Request(request)) => {
                self.modern_refused(&request.id, error)
            }
            // A modern notification by POST has no effect; what its envelope lacks harms nobody.
            (Opening::Refused(_), _) => accepted(),
            (Opening::Legacy, message) => self.legacy(head, mark, message, posted).await,
        }
    }

    fn too_large(&self) -> Reply {
        let message = format!(
            "a message may have {} bytes at most (Config::max_body)",
            self.config.max_body
        );
        plain(StatusCode::PAYLOAD_TOO_LARGE, &message)
    }
}

/// On whose behalf a request is made, where something in front of us established it.
fn principal_of(extensions: &http::Extensions) -> Option<Arc<Principal>> {
    if extensions.is_empty() {
        return None;
    }
    let shared = extensions.get::<Arc<Principal>>().cloned();
    shared.or_else(|| extensions.get::<Principal>().cloned().map(Arc::new))
}

pub(crate) fn malformed(message: &'static str) -> Refusal {
    Refusal {
        kind: RefusalKind::Malformed,
        id: None,
        message: message.into(),
    }
}

/// The answer to a body that is no message.
pub(crate) fn refused(refusal: &Refusal, features: Option<&Features>) -> Reply {
    let mut frame = Vec::with_capacity(128);
    write_refusal(&mut frame, refusal, features);
    json(StatusCode::BAD_REQUEST, frame)
}

/// A response that says in a sentence what is wrong, as an error that belongs to no request.
pub(crate) fn plain(code: StatusCode, message: &str) -> Reply {
    let mut frame = Vec::with_capacity(128);
    rpc::error_without_id(&mut frame, false, rpc::code::INVALID_REQUEST, message);
    json(code, frame)
}

pub(crate) fn json(code: StatusCode, frame: Vec<u8>) -> Reply {
    let mut reply = Response::new(ResponseBody::full(frame));
    *reply.status_mut() = code;
    reply.headers_mut().insert(header::CONTENT_TYPE, JSON);
    reply
}

/// The answer to a message that wants none.
pub(crate) fn accepted() -> Reply {
    let mut reply = Response::new(ResponseBody::empty());
    *reply.status_mut() = StatusCode::ACCEPTED;
    reply
}

/// A response that is a stream.
pub(crate) fn stream(body: ResponseBody) -> Reply {
    let mut reply = Response::new(body);
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, EVENTS);
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    reply
}

/// An answer as plain JSON, with the status that its failure has. What a scope is lacking for
/// travels beside it, for a layer that can say how to get it.
pub(crate) fn answered(answer: Answer, code: StatusCode) -> Reply {
    let mut reply = json(code, answer.frame);
    if let Some(ErrorKind::Forbidden(needed)) = answer.failure {
        reply.extensions_mut().insert(needed);
    }
    reply
}

pub(crate) fn modern_answer(answer: Answer) -> Reply {
    let code = status::of_modern(answer.failure.as_ref());
    answered(answer, code)
}

pub(crate) fn legacy_answer(answer: Answer) -> Reply {
    let code = status::of_legacy(answer.failure.as_ref());
    answered(answer, code)
}

/// Lets a page of an allowed origin read the response.
fn share_with(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate"),
    );
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}
