//! The legacy era: sessions, their streams, and replay.
//!
//! Specification: basic/transports, "Streamable HTTP" (2025-11-25, 2025-06-18, 2025-03-26).

use std::sync::Arc;
use std::task::{Context, Waker};

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use turnbuckle_session::{InboundFrame, MessageOutcome, ReplySink, Session};
use turnbuckle_types::Principal;
use turnbuckle_wire::era::NamedRevision;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::era::headers::HeaderValues;
use turnbuckle_wire::revision::{Features, Method, Revision};
use turnbuckle_wire::rpc::Message;

use super::EventStream;
use super::endpoint::{Posted, SESSION_ID, StreamableEndpoint, legacy_answer};
use super::event_stream::EndSessionOnDrop;
use super::pending_post::{PendingPost, PostOutcome};
use super::post_sink::PostSink;
use super::sessions::{HttpSession, OpenSessionError};
use super::stream::{SessionStream, StreamReader};
use crate::body::ResponseBody;
use crate::event;
use crate::head::RequestHeaders;
use crate::reply::{HttpReply, accepted_reply, error_reply, stream_reply};

/// Characters of a version that is not known, as far as it is told back.
const LONGEST_SHOWN: usize = 64;

/// What was posted: one message, or a batch, which is taken apart later.
type OneOrBatch<'a> = Option<Message<'a, Params<'a>>>;

impl StreamableEndpoint {
    pub(super) fn legacy(
        &self,
        head: &RequestHeaders<'_>,
        mark: NamedRevision<'_>,
        message: Message<'_, Params<'_>>,
        posted: Posted<'_>,
        cx: &mut Context<'_>,
    ) -> PostOutcome<'_> {
        if let Some(reply) = unknown_version(mark) {
            return reply.into();
        }
        let opens = matches!(&message, Message::Request(request)
            if request.method == Method::Initialize.as_str());
        let body = Some(message);
        match (self.config.stateless, opens, head.session_id) {
            (true, ..) => self.alone(opens, mark, body, posted, cx),
            (false, true, HeaderValues::Missing) => self.initialize(body, posted).into(),
            _ => match self.open_session(head, posted.transport.principal.as_deref()) {
                Ok(open) => self.in_session(&open, body, posted, cx),
                Err(reply) => PostOutcome::Answered(*reply),
            },
        }
    }

    pub(super) fn batch(
        &self,
        head: &RequestHeaders<'_>,
        mark: NamedRevision<'_>,
        posted: Posted<'_>,
        cx: &mut Context<'_>,
    ) -> PostOutcome<'_> {
        if matches!(mark, NamedRevision::Modern(_)) {
            let message = "a body is one message in this revision";
            return error_reply(StatusCode::BAD_REQUEST, message).into();
        }
        if let Some(reply) = unknown_version(mark) {
            return reply.into();
        }
        if self.config.stateless {
            return self.alone(false, mark, None, posted, cx);
        }
        match self.open_session(head, posted.transport.principal.as_deref()) {
            Ok(open) => self.in_session(&open, None, posted, cx),
            Err(reply) => PostOutcome::Answered(*reply),
        }
    }

    /// The session that a request names.
    fn open_session(
        &self,
        head: &RequestHeaders<'_>,
        principal: Option<&Principal>,
    ) -> Result<Arc<HttpSession>, Box<HttpReply>> {
        let id = match head.session_id {
            HeaderValues::One(id) => id,
            HeaderValues::Missing => {
                return Err(Box::new(error_reply(
                    StatusCode::BAD_REQUEST,
                    "no Mcp-Session-Id: send \"initialize\" first, or requests with an envelope",
                )));
            }
            HeaderValues::Repeated => {
                return Err(Box::new(error_reply(
                    StatusCode::BAD_REQUEST,
                    "Mcp-Session-Id stands there twice",
                )));
            }
        };
        std::str::from_utf8(id)
            .ok()
            .and_then(|id| self.sessions.get(id, principal))
            .ok_or_else(|| {
                Box::new(error_reply(
                    StatusCode::NOT_FOUND,
                    "there is no such session (any more); one that is idle ends after \
                     HttpServerOptions::session_idle_timeout or handshake_timeout",
                ))
            })
    }

    /// What the sender of a frame that is no message knows, as far as its headers tell.
    pub(super) fn features_of(
        &self,
        head: &RequestHeaders<'_>,
        principal: Option<&Principal>,
    ) -> Option<&'static Features> {
        let named = match head.mark() {
            NamedRevision::Modern(revision) => return Some(revision.features()),
            NamedRevision::Legacy(revision) => Some(revision.features()),
            NamedRevision::None | NamedRevision::Unknown(_) => None,
        };
        let open = match head.session_id {
            HeaderValues::One(_) => self.open_session(head, principal).ok(),
            _ => None,
        };
        let state = open.and_then(|open| Some(open.session.legacy()?.features()));
        state.or(named)
    }

    /// Opens a session.
    fn initialize(&self, body: OneOrBatch<'_>, posted: Posted<'_>) -> HttpReply {
        let open = self
            .sessions
            .create(&self.exchange, posted.transport.principal.as_deref());
        let route: Arc<dyn ReplySink> = open.standalone.clone();
        let mut cx = Context::from_waker(Waker::noop());
        // A handshake is answered in place: nothing waits for this waker.
        let MessageOutcome::Response(answer) =
            receive(&open.session, body, posted.delivery(), &route, &mut cx)
        else {
            return error_reply(StatusCode::BAD_REQUEST, "the handshake was not answered");
        };
        if answer.failure.is_some() {
            return legacy_answer(answer);
        }
        match self.sessions.insert(open) {
            Ok(id) => {
                let mut reply = legacy_answer(answer);
                if let Ok(mut id) = HeaderValue::from_str(&id) {
                    id.set_sensitive(true);
                    reply.headers_mut().insert(SESSION_ID, id);
                }
                reply
            }
            Err(OpenSessionError::TooMany) => error_reply(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many sessions are open (HttpServerOptions::max_sessions)",
            ),
            Err(OpenSessionError::RandomnessUnavailable) => error_reply(
                StatusCode::INTERNAL_SERVER_ERROR,
                "there is no randomness for a session id",
            ),
        }
    }

    fn in_session(
        &self,
        open: &Arc<HttpSession>,
        body: OneOrBatch<'_>,
        posted: Posted<'_>,
        cx: &mut Context<'_>,
    ) -> PostOutcome<'_> {
        let wants_answer = !matches!(&body, Some(Message::Notification(_) | Message::Response(_)));
        if !wants_answer {
            let route: Arc<dyn ReplySink> = open.standalone.clone();
            // A notification and an answer start nothing that would have to wake us.
            receive(&open.session, body, posted.delivery(), &route, cx);
            // It may be the end of the handshake that a stream has waited for.
            open.standalone.wake_reader();
            return accepted_reply().into();
        }
        let post = PostSink::in_session(open);
        self.take(&open.session, post, None, body, posted, cx)
    }

    /// Takes a body that wants an answer; `end` ends the session of one that has it alone.
    fn take(
        &self,
        session: &Arc<Session>,
        post: Arc<PostSink>,
        end: Option<EndSessionOnDrop>,
        body: OneOrBatch<'_>,
        posted: Posted<'_>,
        cx: &mut Context<'_>,
    ) -> PostOutcome<'_> {
        let route: Arc<dyn ReplySink> = post.clone();
        let underway = match receive(session, body, posted.delivery(), &route, cx) {
            MessageOutcome::NoResponse => return accepted_reply().into(),
            MessageOutcome::Response(answer) if post.is_silent() => {
                return legacy_answer(answer).into();
            }
            MessageOutcome::Response(answer) => {
                post.finish(Some(answer));
                None
            }
            MessageOutcome::Pending => None,
            MessageOutcome::Held(underway) => Some(underway),
        };
        PostOutcome::PendingPost(PendingPost::legacy(self, post, underway, end))
    }

    /// The answer comes as a stream, which is kept for replay. What is there already leaves in one
    /// write.
    pub(super) fn streamed(&self, open: &HttpSession, reader: StreamReader) -> HttpReply {
        let own = reader.stream();
        let kept = open.keep(own, &self.config);
        own.start_streaming(kept);
        let mut events = Vec::new();
        if kept && primes(open) {
            event::append_priming_event(&mut events, own.id, self.config.reconnect_delay);
        }
        if reader.read_available(&mut events) {
            return stream_reply(ResponseBody::full(events));
        }
        let head = (!events.is_empty()).then(|| events.into());
        let events = EventStream::of_stream(head, reader, self.config.keep_alive_interval);
        stream_reply(ResponseBody::events(events))
    }

    /// Serves a body without a session.
    fn alone(
        &self,
        opens: bool,
        mark: NamedRevision<'_>,
        body: OneOrBatch<'_>,
        posted: Posted<'_>,
        cx: &mut Context<'_>,
    ) -> PostOutcome<'_> {
        let revision = match mark {
            NamedRevision::Legacy(revision) => revision,
            _ => Revision::DEFAULT_WITHOUT_HEADER,
        };
        // What opens a session has to be answered by one, and the messages of a batch share one.
        let body = match body {
            Some(Message::Request(request)) if !opens => {
                return self.exchange(request, revision, posted, legacy_answer, cx);
            }
            body => body,
        };
        let own = SessionStream::new(1, self.sessions.stream_limits().clone());
        own.expect_reader();
        let principal = posted.transport.principal.as_deref();
        let account = self.exchange.account(principal, posted.account);
        let session =
            self.exchange
                .stateless_session((!opens).then_some(revision), own.clone(), account);
        // A client that is gone cannot come back, nor say that it wants no answer any more.
        let end = EndSessionOnDrop(session.clone());
        self.take(&session, PostSink::alone(own), Some(end), body, posted, cx)
    }

    /// The stream of what belongs to no request, or one that is to be resumed.
    pub(super) fn get(
        &self,
        head: &RequestHeaders<'_>,
        principal: Option<&Principal>,
    ) -> HttpReply {
        if let Some(reply) = unknown_version(head.mark()) {
            return reply;
        }
        if !head.accepts_events {
            return error_reply(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream");
        }
        let open = match self.open_session(head, principal) {
            Ok(open) => open,
            Err(reply) => return *reply,
        };
        match head.last_event_id {
            HeaderValues::Missing => self.join(&open),
            HeaderValues::One(id) => self.resume(&open, id).unwrap_or_else(unknown_event),
            HeaderValues::Repeated => unknown_event(),
        }
    }

    /// Another connection of the general stream.
    fn join(&self, open: &HttpSession) -> HttpReply {
        let Some(reader) = open.standalone.attach(None) else {
            return unknown_event();
        };
        let (after, number) = (reader.began_after(), reader.number());
        let head = primes(open).then(|| {
            event::priming_event_at(
                open.standalone.id,
                after,
                number,
                self.config.reconnect_delay,
            )
        });
        self.general(head, open, reader)
    }

    /// A stream, from after the event of that id.
    fn resume(&self, open: &HttpSession, id: &[u8]) -> Option<HttpReply> {
        let (id, place) = event::parse_event_id(id)?;
        let reader = open.stream(id)?.attach(Some(place))?;
        let head = primes(open).then(|| event::retry_event(self.config.reconnect_delay));
        if id == open.standalone.id {
            return Some(self.general(head, open, reader));
        }
        let events = EventStream::of_stream(head, reader, self.config.keep_alive_interval);
        Some(stream_reply(ResponseBody::events(events)))
    }

    fn general(&self, head: Option<Bytes>, open: &HttpSession, reader: StreamReader) -> HttpReply {
        let (session, shutdown) = (open.session.clone(), self.shutdown.clone());
        let keep_alive = self.config.keep_alive_interval;
        let events = EventStream::of_general(head, reader, session, shutdown, keep_alive);
        stream_reply(ResponseBody::events(events))
    }

    /// Ends a session.
    pub(super) fn delete(
        &self,
        head: &RequestHeaders<'_>,
        principal: Option<&Principal>,
    ) -> HttpReply {
        if let Some(reply) = unknown_version(head.mark()) {
            return reply;
        }
        if let Err(reply) = self.open_session(head, principal) {
            return *reply;
        }
        if let HeaderValues::One(id) = head.session_id
            && let Ok(id) = std::str::from_utf8(id)
        {
            self.sessions.end(id, principal);
        }
        HttpReply::empty(StatusCode::NO_CONTENT)
    }
}

/// Whether the session's revision wants streams to begin with an id, and with when to come back.
fn primes(open: &HttpSession) -> bool {
    let state = open.session.legacy();
    state.is_some_and(|state| state.features().priming_event)
}

fn unknown_event() -> HttpReply {
    let message = "Last-Event-ID: that event is not known (any more); what is kept is bounded by \
                   HttpServerOptions::max_replay_events, max_replay_bytes, max_session_replay_bytes, max_total_replay_bytes, \
                   replay_ttl and max_streams";
    error_reply(StatusCode::BAD_REQUEST, message)
}

fn receive(
    session: &Arc<Session>,
    body: OneOrBatch<'_>,
    delivery: InboundFrame<'_>,
    route: &Arc<dyn ReplySink>,
    cx: &mut Context<'_>,
) -> MessageOutcome {
    match body {
        Some(message) => session.receive(message, None, delivery, route, cx),
        None => session.receive_batch(delivery, route, cx),
    }
}

/// The answer to a version header that names no revision. One that names another than the session's is let pass:
/// the session's counts.
fn unknown_version(mark: NamedRevision<'_>) -> Option<HttpReply> {
    let NamedRevision::Unknown(version) = mark else {
        return None;
    };
    let supported: Vec<&str> = Revision::ALL
        .iter()
        .map(|revision| revision.as_str())
        .collect();
    let version: String = version.chars().take(LONGEST_SHOWN).collect();
    let message = format!(
        "MCP-Protocol-Version {version:?} is not supported; these are: {}",
        supported.join(", ")
    );
    Some(error_reply(StatusCode::BAD_REQUEST, &message))
}
