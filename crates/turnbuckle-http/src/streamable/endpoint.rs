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
use turnbuckle_session::{Account, Answer, Delivery, Exchange, Signal, TransportContext};
use turnbuckle_types::ErrorKind;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::era::{Header, Mark, Opening, of_opening};
use turnbuckle_wire::rpc::{self, Message, Refusal};

use super::alarm::Alarm;
use super::sessions::Sessions;
use super::waits::{Taken, Waits};
use crate::body::ResponseBody;
use crate::config::Config;
use crate::head::Head;
use crate::origin::Allowed;
use crate::reply::{
    Reply, accepted, again_after, crowded_head, json, malformed, plain, preflight, refused,
    share_with, unread, wrong_method, wrong_type,
};
use crate::{body, principal, status};

pub(crate) const SESSION_ID: HeaderName =
    HeaderName::from_static(turnbuckle_wire::era::headers::SESSION_ID);
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
const METHODS_STATELESS: HeaderValue = HeaderValue::from_static("POST, OPTIONS");

/// One endpoint, shared by its requests.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) exchange: Exchange,
    pub(crate) config: Arc<Config>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) shutdown: Option<Signal>,
    /// When an answer that is waited for becomes a stream.
    pub(super) alarm: Alarm,
    allowed: Allowed,
}

/// A body that was posted.
#[derive(Clone, Copy)]
pub(crate) struct Posted<'a> {
    pub(crate) frame: &'a Bytes,
    pub(crate) text: &'a str,
    pub(crate) transport: &'a TransportContext,
    /// That of the connection, where it is known.
    pub(crate) account: Option<&'a Arc<Account>>,
}

impl<'a> Posted<'a> {
    /// The body on its way.
    pub(crate) fn delivery(self) -> Delivery<'a> {
        Delivery {
            frame: self.frame,
            text: self.text,
            transport: self.transport,
            account: self.account,
        }
    }
}

impl Endpoint {
    pub(crate) fn new(exchange: Exchange, config: Config, shutdown: Option<Signal>) -> Self {
        let config = Arc::new(config);
        Self {
            exchange,
            sessions: Sessions::new(config.clone()),
            alarm: Alarm::new(config.json_wait),
            allowed: Allowed::new(config.allowed_hosts.as_deref(), &config.allowed_origins),
            config,
            shutdown,
        }
    }

    /// Answers a request; `account` is that of its connection, where it is known.
    pub(crate) async fn answer<B>(
        &self,
        parts: &mut Parts,
        body: Pin<&mut B>,
        account: Option<&Arc<Account>>,
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
        account: Option<&Arc<Account>>,
    ) -> Reply
    where
        B: Body<Data: Buf>,
    {
        if parts.headers.len() > self.config.max_headers {
            return crowded_head(self.config.max_headers);
        }
        let head = Head::read(&parts.headers);
        let host = head.host_of(&parts.uri);
        if let Err(forbidden) = self.allowed.check(host, head.origin) {
            return plain(StatusCode::FORBIDDEN, &forbidden.to_string());
        }
        let mut reply = match parts.method {
            Method::POST => {
                let answer = self.post(parts, &head, body, account).await;
                match head.accepts_json {
                    true => answer,
                    false => answer.into_event(),
                }
            }
            Method::GET if !self.config.stateless => {
                self.get(&head, principal::of(&parts.extensions).as_deref())
            }
            Method::DELETE if !self.config.stateless => {
                self.delete(&head, principal::of(&parts.extensions).as_deref())
            }
            Method::OPTIONS => preflight(&parts.headers, self.methods()),
            _ => wrong_method(self.methods()),
        };
        if let Some(origin) = parts.headers.get(header::ORIGIN) {
            share_with(reply.headers_mut(), origin.clone());
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
        head: &Head<'_>,
        body: Pin<&mut B>,
        account: Option<&Arc<Account>>,
    ) -> Reply
    where
        B: Body<Data: Buf>,
    {
        if !head.has_json_body() {
            return wrong_type();
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
            Err(why) => return unread(&why, &self.config),
        };
        let mut waits: Option<Waits<'_>> = None;
        poll_fn(|cx| {
            if let Some(waits) = &mut waits {
                return waits.poll(cx);
            }
            match self.take_up(parts, head, &frame, account, cx) {
                Taken::Answered(reply) => Poll::Ready(reply),
                Taken::Waits(taken) => waits.insert(taken).poll(cx),
            }
        })
        .await
    }

    /// Takes up what was posted. Its handler is polled once, by `cx`.
    fn take_up(
        &self,
        parts: &Parts,
        head: &Head<'_>,
        frame: &Bytes,
        account: Option<&Arc<Account>>,
        cx: &mut Context<'_>,
    ) -> Taken<'_> {
        let principal = principal::of(&parts.extensions);
        let refused = |refusal: &Refusal| {
            let features = self.features_of(head, principal.as_deref());
            Taken::Answered(refused(refusal, features))
        };
        let Ok(text) = std::str::from_utf8(frame) else {
            return refused(&malformed("not JSON: the text is not UTF-8"));
        };
        let transport = TransportContext {
            principal: principal.clone(),
            shutdown: self.shutdown.clone(),
            http: crate::parts::seen(parts, self.exchange.reads_http()),
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
        let header = Header::Carried(mark);
        let opening = match &message {
            Message::Request(request) => of_opening(header, &request.method, &request.params),
            Message::Notification(note) => of_opening(header, &note.method, &note.params),
            Message::Response(_) if matches!(mark, Mark::Modern(_)) => return accepted().into(),
            Message::Response(_) => Opening::Legacy,
        };
        match (opening, message) {
            (Opening::Modern(revision), Message::Request(request)) => {
                self.modern(&parts.headers, head, request, revision, posted, cx)
            }
            (Opening::Modern(_), _) => accepted().into(),
            (Opening::Refused(error), Message::Request(request)) => {
                self.modern_refused(&request.id, error).into()
            }
            // A modern notification by POST has no effect; what its envelope lacks harms nobody.
            (Opening::Refused(_), _) => accepted().into(),
            (Opening::Legacy, message) => self.legacy(head, mark, message, posted, cx),
        }
    }
}

/// An answer as plain JSON, with the status that its failure has. What a scope is lacking for
/// travels beside it, for a layer that can say how to get it. What came too fast is told when to
/// come again.
pub(crate) fn answered(answer: Answer, code: StatusCode) -> Reply {
    let mut reply = json(code, answer.frame, answer.tail);
    match answer.failure {
        Some(ErrorKind::Forbidden(needed)) => {
            reply.extensions_mut().insert(needed);
        }
        Some(ErrorKind::TooMany {
            retry_after: Some(wait),
        }) => again_after(&mut reply, wait),
        _ => {}
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
