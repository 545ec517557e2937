//! Classifies each request once and hands it to its era.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use http_body::Body;
use turnbuckle_session::{
    EncodedResponse, InboundFrame, RateAccount, ServerEndpoint, Signal, TransportContext,
};
use turnbuckle_types::ErrorKind;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::era::{MessageEra, NamedRevision, VersionHeader, message_era};
use turnbuckle_wire::rpc::{self, DecodeError, Message};

use super::alarm::Alarm;
use super::pending_post::{PendingPost, PostOutcome};
use super::sessions::SessionTable;
use crate::body::ResponseBody;
use crate::head::RequestHeaders;
use crate::options::HttpServerOptions;
use crate::origin::OriginPolicy;
use crate::reply::{
    HttpReply, accepted_reply, allow_origin, body_error_reply, error_reply, json_reply,
    malformed_refusal, method_not_allowed, preflight_reply, refusal_reply, set_retry_after,
    too_many_headers, unsupported_media_type,
};
use crate::{body, principal, status};

pub(crate) const SESSION_ID: HeaderName =
    HeaderName::from_static(turnbuckle_wire::era::headers::SESSION_ID);
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
const METHODS_STATELESS: HeaderValue = HeaderValue::from_static("POST, OPTIONS");

/// One endpoint, shared by its requests.
#[derive(Debug)]
pub(crate) struct StreamableEndpoint {
    pub(crate) exchange: ServerEndpoint,
    pub(crate) config: Arc<HttpServerOptions>,
    pub(crate) sessions: Arc<SessionTable>,
    pub(crate) shutdown: Option<Signal>,
    /// When an answer that is waited for becomes a stream.
    pub(super) alarm: Alarm,
    allowed: OriginPolicy,
}

/// A body that was posted.
#[derive(Clone, Copy)]
pub(crate) struct Posted<'a> {
    pub(crate) frame: &'a Bytes,
    pub(crate) text: &'a str,
    pub(crate) transport: &'a TransportContext,
    /// That of the connection, where it is known.
    pub(crate) account: Option<&'a Arc<RateAccount>>,
}

impl<'a> Posted<'a> {
    /// The body on its way.
    pub(crate) fn delivery(self) -> InboundFrame<'a> {
        InboundFrame {
            frame: self.frame,
            text: self.text,
            transport: self.transport,
            account: self.account,
        }
    }
}

impl StreamableEndpoint {
    pub(crate) fn new(
        exchange: ServerEndpoint,
        config: HttpServerOptions,
        shutdown: Option<Signal>,
    ) -> Self {
        let config = Arc::new(config);
        Self {
            exchange,
            sessions: SessionTable::new(config.clone()),
            alarm: Alarm::new(config.json_wait),
            allowed: OriginPolicy::new(config.allowed_hosts.as_deref(), &config.allowed_origins),
            config,
            shutdown,
        }
    }

    /// Answers a request; `account` is that of its connection, where it is known.
    pub(crate) async fn answer<B>(
        &self,
        parts: &mut Parts,
        body: Pin<&mut B>,
        account: Option<&Arc<RateAccount>>,
    ) -> Response<ResponseBody>
    where
        B: Body<Data: Buf>,
    {
        let reply = self.reply(parts, body, account).await;
        reply.into_response(std::mem::take(&mut parts.headers))
    }

    async fn reply<B>(
        &self,
        parts: &Parts,
        body: Pin<&mut B>,
        account: Option<&Arc<RateAccount>>,
    ) -> HttpReply
    where
        B: Body<Data: Buf>,
    {
        if parts.headers.len() > self.config.max_headers {
            return too_many_headers(self.config.max_headers);
        }
        let head = RequestHeaders::read(&parts.headers);
        let host = head.requested_host(&parts.uri);
        if let Err(forbidden) = self.allowed.check(host, head.origin) {
            return error_reply(StatusCode::FORBIDDEN, &forbidden.to_string());
        }
        let mut reply = match parts.method {
            Method::POST => {
                let answer = self.post(parts, &head, body, account).await;
                match head.accepts_json {
                    true => answer,
                    false => answer.into_event(),
                }
            }
            Method::GET if !self.config.stateless => self.get(
                &head,
                principal::from_extensions(&parts.extensions).as_deref(),
            ),
            Method::DELETE if !self.config.stateless => self.delete(
                &head,
                principal::from_extensions(&parts.extensions).as_deref(),
            ),
            Method::OPTIONS => preflight_reply(&parts.headers, self.methods()),
            _ => method_not_allowed(self.methods()),
        };
        if let Some(origin) = parts.headers.get(header::ORIGIN) {
            allow_origin(reply.headers_mut(), origin.clone());
        }
        reply
    }

    fn methods(&self) -> HeaderValue {
        if self.config.stateless {
            METHODS_STATELESS
        } else {
            METHODS
        }
    }

    async fn post<B>(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        body: Pin<&mut B>,
        account: Option<&Arc<RateAccount>>,
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
        let HttpServerOptions {
            max_message_bytes,
            body_timeout,
            ..
        } = *self.config;
        let frame =
            match body::read(body, head.content_length, max_message_bytes, body_timeout).await {
                Ok(frame) => frame,
                Err(why) => return body_error_reply(&why, &self.config),
            };
        let mut waits: Option<PendingPost<'_>> = None;
        poll_fn(|cx| {
            if let Some(waits) = &mut waits {
                return waits.poll(cx);
            }
            match self.take_up(parts, head, &frame, account, cx) {
                PostOutcome::Answered(reply) => Poll::Ready(reply),
                PostOutcome::PendingPost(taken) => waits.insert(taken).poll(cx),
            }
        })
        .await
    }

    /// Takes up what was posted. Its handler is polled once, by `cx`.
    fn take_up(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        frame: &Bytes,
        account: Option<&Arc<RateAccount>>,
        cx: &mut Context<'_>,
    ) -> PostOutcome<'_> {
        let principal = principal::from_extensions(&parts.extensions);
        let refused = |refusal: &DecodeError| {
            let features = self.features_of(head, principal.as_deref());
            PostOutcome::Answered(refusal_reply(refusal, features))
        };
        let Ok(text) = std::str::from_utf8(frame) else {
            return refused(&malformed_refusal("not JSON: the text is not UTF-8"));
        };
        let transport = TransportContext {
            principal: principal.clone(),
            shutdown: self.shutdown.clone(),
            http: crate::request_head::capture(parts, self.exchange.reads_http()),
        };
        let mark = head.mark();
        let posted = Posted {
            frame,
            text,
            transport: &transport,
            account,
        };
        if rpc::is_batch(text) {
            return self.batch(head, mark, posted, cx);
        }
        let message = match rpc::decode::<Params<'_>>(text) {
            Ok(message) => message,
            Err(refusal) => return refused(&refusal),
        };
        let header = VersionHeader::Http(mark);
        let opening = match &message {
            Message::Request(request) => message_era(header, &request.method, &request.params),
            Message::Notification(note) => message_era(header, &note.method, &note.params),
            Message::Response(_) if matches!(mark, NamedRevision::Modern(_)) => {
                return accepted_reply().into();
            }
            Message::Response(_) => MessageEra::Legacy,
        };
        match (opening, message) {
            (MessageEra::Modern(revision), Message::Request(request)) => {
                self.modern(&parts.headers, head, request, revision, posted, cx)
            }
            (MessageEra::Modern(_), _) => accepted_reply().into(),
            (MessageEra::Invalid(error), Message::Request(request)) => {
                self.modern_refused(&request.id, error).into()
            }
            // A modern notification by POST has no effect; what its envelope lacks harms nobody.
            (MessageEra::Invalid(_), _) => accepted_reply().into(),
            (MessageEra::Legacy, message) => self.legacy(head, mark, message, posted, cx),
        }
    }
}

/// An answer as plain JSON, with the status that its failure has. What a scope is lacking for
/// travels beside it, for a layer that can say how to get it. What came too fast is told when to
/// come again.
pub(crate) fn answered(answer: EncodedResponse, code: StatusCode) -> HttpReply {
    let mut reply = json_reply(code, answer.frame, answer.tail);
    match answer.failure {
        Some(ErrorKind::Forbidden(needed)) => {
            reply.extensions_mut().insert(needed);
        }
        Some(ErrorKind::RateLimited {
            retry_after: Some(wait),
        }) => set_retry_after(&mut reply, wait),
        _ => {}
    }
    reply
}

pub(crate) fn modern_answer(answer: EncodedResponse) -> HttpReply {
    let code = status::modern_status(answer.failure.as_ref());
    answered(answer, code)
}

pub(crate) fn legacy_answer(answer: EncodedResponse) -> HttpReply {
    let code = status::legacy_status(answer.failure.as_ref());
    answered(answer, code)
}
