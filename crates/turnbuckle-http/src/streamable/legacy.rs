//! The legacy era: sessions, their streams, and replay.
//!
//! Specification: basic/transports, "Streamable HTTP" (2025-11-25, 2025-06-18, 2025-03-26).

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use http::{HeaderValue, Response, StatusCode};
use turnbuckle_session::{Delivery, Method, Params, Received, Revision, Route, Session};
use turnbuckle_types::Principal;
use turnbuckle_wire::era::Mark;
use turnbuckle_wire::era::headers::HeaderValues;
use turnbuckle_wire::rpc::Message;

use super::Events;
use super::endpoint::{
    Endpoint, Posted, Reply, SESSION_ID, accepted, legacy_answer, plain, stream,
};
use super::sessions::{NoSession, Open};
use super::stream::{First, Stream};
use crate::body::ResponseBody;
use crate::event;
use crate::head::Head;

/// What was posted: one message, or a batch, which is taken apart later.
type OneOrBatch<'a> = Option<Message<'a, Params<'a>>>;

impl Endpoint {
    pub(super) async fn legacy(
        &self,
        head: &Head<'_>,
        mark: Mark<'_>,
        message: Message<'_, Params<'_>>,
        posted: Posted<'_>,
    ) -> Reply {
        if let Some(reply) = unknown_version(mark) {
            return reply;
        }
        let opens = matches!(&message, Message::Request(request)
            if request.method == Method::Initialize.as_str());
        let body = Some(message);
        match (self.config.stateless, opens, head.session) {
            (true, ..) => self.alone(opens, mark, body, posted).await,
            (false, true, HeaderValues::Missing) => self.initialize(body, posted),
            _ => match self.open_session(head, posted.transport.principal.as_deref()) {
                Ok(open) => self.in_session(&open, body, posted).await,
                Err(reply) => *reply,
            },
        }
    }

    pub(super) async fn batch(&self, head: &Head<'_>, mark: Mark<'_>, posted: Posted<'_>) -> Reply {
        if matches!(mark, Mark::Modern(_)) {
            return plain(
                StatusCode::BAD_REQUEST,
                "a body is one message in this revision",
            );
        }
        if let Some(reply) = unknown_version(mark) {
            return reply;
        }
        if self.config.stateless {
            return self.alone(false, mark, None, posted).await;
        }
        match self.open_session(head, posted.transport.principal.as_deref()) {
            Ok(open) => self.in_session(&open, None, posted).await,
            Err(reply) => *reply,
        }
    }

    /// The session that a request names.
    fn open_session(
        &self,
        head: &Head<'_>,
        principal: Option<&Principal>,
    ) -> Result<Arc<Open>, Box<Reply>> {
        let id = match head.session {
            HeaderValues::One(id) => id,
            HeaderValues::Missing => {
                return Err(Box::new(plain(
                    StatusCode::BAD_REQUEST,
                    "no Mcp-Session-Id: send \"initialize\" first, or requests with an envelope",
                )));
            }
            HeaderValues::Repeated => {
                return Err(Box::new(plain(
                    StatusCode::BAD_REQUEST,
                    "Mcp-Session-Id stands there twice",
                )));
            }
        };
        std::str::from_utf8(id)
            .ok()
            .and_then(|id| self.sessions.get(id, principal))
            .ok_or_else(|| {
                Box::new(plain(
                    StatusCode::NOT_FOUND,
                    "there is no such session (any more)",
                ))
            })
    }

    /// Opens a session.
    fn initialize(&self, body: OneOrBatch<'_>, posted: Posted<'_>) -> Reply {
        let open = self
            .sessions
            .prepare(&self.exchange, posted.transport.principal.as_deref());
        let route: Arc<dyn Route> = open.general.clone();
        let delivery = posted.delivery(&route);
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        // A handshake is answered in place: nothing waits for this waker.
        let Received::Answered(answer) = receive(&open.session, body, delivery, &mut cx) else {
            return plain(StatusCode::BAD_REQUEST, "the handshake was not answered");
        };
        if answer.failure.is_some() {
            return legacy_answer(answer);
        }
        match self.sessions.admit(open) {
            Ok(id) => {
                let mut reply = legacy_answer(answer);
                if let Ok(id) = HeaderValue::from_str(&id) {
                    reply.headers_mut().insert(SESSION_ID, id);
                }
                reply
            }
            Err(NoSession::Full) => plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many sessions are open (Config::max_sessions)",
            ),
            Err(NoSession::NoRandomness) => plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                "there is no randomness for a session id",
            ),
        }
    }

    async fn in_session(
        &self,
        open: &Arc<Open>,
        body: OneOrBatch<'_>,
        posted: Posted<'_>,
    ) -> Reply {
        let wants_answer = !matches!(&body, Some(Message::Notification(_) | Message::Response(_)));
        if !wants_answer {
            let route: Arc<dyn Route> = open.general.clone();
            let delivery = posted.delivery(&route);
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            // A notification and an answer start nothing that would have to wake us.
            receive(&open.session, body, delivery, &mut cx);
            return accepted();
        }
        let own = open.new_stream(&self.config);
        match self.take(&open.session, &own, body, posted).await {
            Taken::Reply(reply) => *reply,
            Taken::Streams => self.streamed(open, own),
        }
    }

    /// Takes a body that wants an answer, and waits for that a while.
    async fn take(
        &self,
        session: &Arc<Session>,
        own: &Arc<Stream>,
        body: OneOrBatch<'_>,
        posted: Posted<'_>,
    ) -> Taken {
        let route: Arc<dyn Route> = own.clone();
        let delivery = posted.delivery(&route);
        let mut body = Some(body);
        let received = poll_fn(|cx| {
            let received = body.take().map(|body| receive(session, body, delivery, cx));
            Poll::Ready(received.unwrap_or(Received::Accepted))
        });
        match received.await {
            Received::Accepted => Taken::Reply(Box::new(accepted())),
            Received::Answered(answer) if own.is_silent() => {
                Taken::Reply(Box::new(legacy_answer(answer)))
            }
            Received::Answered(answer) => {
                own.done(Some(answer));
                Taken::Streams
            }
            Received::Running => {
                let first = poll_fn(|cx| own.poll_first(cx));
                match tokio::time::timeout(self.config.json_wait, first).await {
                    Ok(First::Answer(answer)) => Taken::Reply(Box::new(legacy_answer(answer))),
                    Ok(First::Stream) | Err(_) => Taken::Streams,
                    Ok(First::Nothing) => Taken::Reply(Box::new(stream(ResponseBody::empty()))),
                }
            }
        }
    }

    /// The answer comes as a stream, which is kept for replay.
    fn streamed(&self, open: &Arc<Open>, own: Arc<Stream>) -> Reply {
        let kept = open.keep(&own, &self.config);
        let paused = kept && own.is_paused();
        own.open();
        let Some(reader) = own.attach(None) else {
            return stream(ResponseBody::empty());
        };
        let primes = open
            .session
            .legacy()
            .is_some_and(|state| state.features().priming_event);
        let head = (primes && kept).then(|| event::priming(own.id, self.config.retry));
        if paused {
            own.pause();
        }
        stream(ResponseBody::events(Events::of_stream(
            head,
            own,
            reader,
            self.config.keep_alive,
        )))
    }

    /// Serves a body without a session.
    async fn alone(
        &self,
        opens: bool,
        mark: Mark<'_>,
        body: OneOrBatch<'_>,
        posted: Posted<'_>,
    ) -> Reply {
        let own = Arc::new(Stream::new(
            1,
            self.config.replay_events,
            self.config.replay_bytes,
        ));
        let session = if opens {
            self.exchange.session(own.clone())
        } else {
            let revision = match mark {
                Mark::Legacy(revision) => revision,
                _ => Revision::WITHOUT_HEADER,
            };
            self.exchange.stateless_session(revision, own.clone())
        };
        match self.take(&session, &own, body, posted).await {
            Taken::Reply(reply) => *reply,
            Taken::Streams => {
                own.open();
                let Some(reader) = own.attach(None) else {
                    return stream(ResponseBody::empty());
                };
                let keep_alive = self.config.keep_alive;
                stream(ResponseBody::events(Events::of_stream(
                    None, own, reader, keep_alive,
                )))
            }
        }
    }

    /// The stream of what belongs to no request, or one that is to be resumed.
    pub(super) fn get(&self, head: &Head<'_>, principal: Option<&Principal>) -> Reply {
        if !head.accepts_events {
            return plain(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream");
        }
        let open = match self.open_session(head, principal) {
            Ok(open) => open,
            Err(reply) => return *reply,
        };
        let unknown = || {
            plain(
                StatusCode::BAD_REQUEST,
                "that event is not known (any more)",
            )
        };
        let (chosen, after) = match head.last_event {
            None => (open.general.clone(), None),
            Some(id) => match event::parse_id(id)
                .and_then(|(id, sequence)| Some((open.stream(id)?, Some(sequence))))
            {
                Some(found) => found,
                None => return unknown(),
            },
        };
        let Some(reader) = chosen.attach(after) else {
            return unknown();
        };
        let keep_alive = self.config.keep_alive;
        let primes = open
            .session
            .legacy()
            .is_some_and(|state| state.features().priming_event);
        let events = if Arc::ptr_eq(&chosen, &open.general) {
            let fresh = primes && after.is_none();
            let head =
                fresh.then(|| event::priming_at(chosen.id, reader.position(), self.config.retry));
            let session = open.session.clone();
            Events::of_general(
                head,
                chosen,
                reader,
                session,
                self.shutdown.clone(),
                keep_alive,
            )
        } else {
            Events::of_stream(None, chosen, reader, keep_alive)
        };
        stream(ResponseBody::events(events))
    }

    /// Ends a session.
    pub(super) fn delete(&self, head: &Head<'_>, principal: Option<&Principal>) -> Reply {
        if let Err(reply) = self.open_session(head, principal) {
            return *reply;
        }
        if let HeaderValues::One(id) = head.session
            && let Ok(id) = std::str::from_utf8(id)
        {
            self.sessions.end(id, principal);
        }
        let mut reply = Response::new(ResponseBody::empty());
        *reply.status_mut() = StatusCode::NO_CONTENT;
        reply
    }
}

enum Taken {
    Reply(Box<Reply>),
    Streams,
}

fn receive(
    session: &Arc<Session>,
    body: OneOrBatch<'_>,
    delivery: Delivery<'_>,
    cx: &mut std::task::Context<'_>,
) -> Received {
    match body {
        Some(message) => session.receive(message, None, delivery, cx),
        None => session.receive_batch(delivery, cx),
    }
}

/// A version header that names no revision. One that names another than the session's is let pass:
/// the session's counts.
fn unknown_version(mark: Mark<'_>) -> Option<Reply> {
    let Mark::Unknown(version) = mark else {
        return None;
    };
    let supported: Vec<&str> = Revision::ALL
        .iter()
        .map(|revision| revision.as_str())
        .collect();
    let message = format!(
        "MCP-Protocol-Version {version:.64?} is not supported; these are: {}",
        supported.join(", ")
    );
    Some(plain(StatusCode::BAD_REQUEST, &message))
}
