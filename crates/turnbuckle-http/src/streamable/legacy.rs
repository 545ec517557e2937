//! The legacy era: sessions, their streams, and replay.
//!
//! Specification: basic/transports, "Streamable HTTP" (2025-11-25, 2025-06-18, 2025-03-26).

use std::sync::Arc;
use std::task::{Context, Waker};

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use turnbuckle_session::{Delivery, Received, Route, Session};
use turnbuckle_types::Principal;
use turnbuckle_wire::era::Mark;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::era::headers::HeaderValues;
use turnbuckle_wire::revision::{Features, Method, Revision};
use turnbuckle_wire::rpc::Message;

use super::Events;
use super::endpoint::{Endpoint, Posted, SESSION_ID, legacy_answer};
use super::events::EndOnDrop;
use super::post::Post;
use super::sessions::{NoSession, Open};
use super::stream::Reader;
use super::waits::{Taken, Waits};
use crate::body::ResponseBody;
use crate::event;
use crate::head::Head;
use crate::reply::{Reply, accepted, plain, stream};

/// Characters of a version that is not known, as far as it is told back.
const LONGEST_SHOWN: usize = 64;

/// What was posted: one message, or a batch, which is taken apart later.
type OneOrBatch<'a> = Option<Message<'a, Params<'a>>>;

impl Endpoint {
    pub(super) fn legacy(
        &self,
        head: &Head<'_>,
        mark: Mark<'_>,
        message: Message<'_, Params<'_>>,
        posted: Posted<'_>,
        cx: &mut Context<'_>,
    ) -> Taken<'_> {
        if let Some(reply) = unknown_version(mark) {
            return reply.into();
        }
        let opens = matches!(&message, Message::Request(request)
            if request.method == Method::Initialize.as_str());
        let body = Some(message);
        match (self.config.stateless, opens, head.session) {
            (true, ..) => self.alone(opens, mark, body, posted, cx),
            (false, true, HeaderValues::Missing) => self.initialize(body, posted).into(),
            _ => match self.open_session(head, posted.transport.principal.as_deref()) {
                Ok(open) => self.in_session(&open, body, posted, cx),
                Err(reply) => Taken::Answered(*reply),
            },
        }
    }

    pub(super) fn batch(
        &self,
        head: &Head<'_>,
        mark: Mark<'_>,
        posted: Posted<'_>,
        cx: &mut Context<'_>,
    ) -> Taken<'_> {
        if matches!(mark, Mark::Modern(_)) {
            let message = "a body is one message in this revision";
            return plain(StatusCode::BAD_REQUEST, message).into();
        }
        if let Some(reply) = unknown_version(mark) {
            return reply.into();
        }
        if self.config.stateless {
            return self.alone(false, mark, None, posted, cx);
        }
        match self.open_session(head, posted.transport.principal.as_deref()) {
            Ok(open) => self.in_session(&open, None, posted, cx),
            Err(reply) => Taken::Answered(*reply),
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
                    "there is no such session (any more); one that is idle ends after \
                     Config::session_idle or handshake_time",
                ))
            })
    }

    /// What the sender of a frame that is no message knows, as far as its headers tell.
    pub(super) fn features_of(
        &self,
        head: &Head<'_>,
        principal: Option<&Principal>,
    ) -> Option<&'static Features> {
        let named = match head.mark() {
            Mark::Modern(revision) => return Some(revision.features()),
            Mark::Legacy(revision) => Some(revision.features()),
            Mark::None | Mark::Unknown(_) => None,
        };
        let open = match head.session {
            HeaderValues::One(_) => self.open_session(head, principal).ok(),
            _ => None,
        };
        let state = open.and_then(|open| Some(open.session.legacy()?.features()));
        state.or(named)
    }

    /// Opens a session.
    fn initialize(&self, body: OneOrBatch<'_>, posted: Posted<'_>) -> Reply {
        let open = self
            .sessions
            .prepare(&self.exchange, posted.transport.principal.as_deref());
        let route: Arc<dyn Route> = open.general.clone();
        let mut cx = Context::from_waker(Waker::noop());
        // A handshake is answered in place: nothing waits for this waker.
        let Received::Answered(answer) =
            receive(&open.session, body, posted.delivery(), &route, &mut cx)
        else {
            return plain(StatusCode::BAD_REQUEST, "the handshake was not answered");
        };
        if answer.failure.is_some() {
            return legacy_answer(answer);
        }
        match self.sessions.admit(open) {
            Ok(id) => {
                let mut reply = legacy_answer(answer);
                if let Ok(mut id) = HeaderValue::from_str(&id) {
                    id.set_sensitive(true);
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

    fn in_session(
        &self,
        open: &Arc<Open>,
        body: OneOrBatch<'_>,
        posted: Posted<'_>,
        cx: &mut Context<'_>,
    ) -> Taken<'_> {
        let wants_answer = !matches!(&body, Some(Message::Notification(_) | Message::Response(_)));
        if !wants_answer {
            let route: Arc<dyn Route> = open.general.clone();
            // A notification and an answer start nothing that would have to wake us.
            receive(&open.session, body, posted.delivery(), &route, cx);
            // It may be the end of the handshake that a stream has waited for.
            open.general.wake();
            return accepted().into();
        }
        let post = Post::in_session(open);
        self.take(&open.session, post, None, body, posted, cx)
    }

    /// Takes a body that wants an answer; `end` ends the session of one that has it alone.
    fn take(
        &self,
        session: &Arc<Session>,
        post: Arc<Post>,
        end: Option<EndOnDrop>,
        body: OneOrBatch<'_>,
        posted: Posted<'_>,
        cx: &mut Context<'_>,
    ) -> Taken<'_> {
        let route: Arc<dyn Route> = post.clone();
        let underway = match receive(session, body, posted.delivery(), &route, cx) {
            Received::Accepted => return accepted().into(),
            Received::Answered(answer) if post.is_silent() => return legacy_answer(answer).into(),
            Received::Answered(answer) => {
                post.done(Some(answer));
                None
            }
            Received::Running => None,
            Received::Held(underway) => Some(underway),
        };
        Taken::Waits(Waits::legacy(self, post, underway, end))
    }

    /// The answer comes as a stream, which is kept for replay. What is there already leaves in one
    /// write.
    pub(super) fn streamed(&self, open: &Open, reader: Reader) -> Reply {
        let own = reader.stream();
        let kept = open.keep(own, &self.config);
        own.open(kept);
        let mut events = Vec::new();
        if kept && primes(open) {
            event::append_priming(&mut events, own.id, self.config.retry);
        }
        if reader.take_all(&mut events) {
            return stream(ResponseBody::full(events));
        }
        let head = (!events.is_empty()).then(|| events.into());
        let events = Events::of_stream(head, reader, self.config.keep_alive);
        stream(ResponseBody::events(events))
    }

    /// Serves a body without a session.
    fn alone(
        &self,
        opens: bool,
        mark: Mark<'_>,
        body: OneOrBatch<'_>,
        posted: Posted<'_>,
        cx: &mut Context<'_>,
    ) -> Taken<'_> {
        let revision = match mark {
            Mark::Legacy(revision) => revision,
            _ => Revision::WITHOUT_HEADER,
        };
        // What opens a session has to be answered by one, and the messages of a batch share one.
        let body = match body {
            Some(Message::Request(request)) if !opens => {
                return self.exchange(request, revision, posted, legacy_answer, cx);
            }
            body => body,
        };
        let own = self.sessions.replay().stream(1);
        own.expect_reader();
        let principal = posted.transport.principal.as_deref();
        let account = self.exchange.account(principal, posted.account);
        let session =
            self.exchange
                .stateless_session((!opens).then_some(revision), own.clone(), account);
        // A client that is gone cannot come back, nor say that it wants no answer any more.
        let end = EndOnDrop(session.clone());
        self.take(&session, Post::alone(own), Some(end), body, posted, cx)
    }

    /// The stream of what belongs to no request, or one that is to be resumed.
    pub(super) fn get(&self, head: &Head<'_>, principal: Option<&Principal>) -> Reply {
        if let Some(reply) = unknown_version(head.mark()) {
            return reply;
        }
        if !head.accepts_events {
            return plain(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream");
        }
        let open = match self.open_session(head, principal) {
            Ok(open) => open,
            Err(reply) => return *reply,
        };
        match head.last_event {
            HeaderValues::Missing => self.join(&open),
            HeaderValues::One(id) => self.resume(&open, id).unwrap_or_else(unknown_event),
            HeaderValues::Repeated => unknown_event(),
        }
    }

    /// Another connection of the general stream.
    fn join(&self, open: &Open) -> Reply {
        let Some(reader) = open.general.attach(None) else {
            return unknown_event();
        };
        let (after, number) = (reader.began_after(), reader.number());
        let head = primes(open)
            .then(|| event::priming_at(open.general.id, after, number, self.config.retry));
        self.general(head, open, reader)
    }

    /// A stream, from after the event of that id.
    fn resume(&self, open: &Open, id: &[u8]) -> Option<Reply> {
        let (id, place) = event::parse_id(id)?;
        let reader = open.stream(id)?.attach(Some(place))?;
        let head = primes(open).then(|| event::retry(self.config.retry));
        if id == open.general.id {
            return Some(self.general(head, open, reader));
        }
        let events = Events::of_stream(head, reader, self.config.keep_alive);
        Some(stream(ResponseBody::events(events)))
    }

    fn general(&self, head: Option<Bytes>, open: &Open, reader: Reader) -> Reply {
        let (session, shutdown) = (open.session.clone(), self.shutdown.clone());
        let keep_alive = self.config.keep_alive;
        let events = Events::of_general(head, reader, session, shutdown, keep_alive);
        stream(ResponseBody::events(events))
    }

    /// Ends a session.
    pub(super) fn delete(&self, head: &Head<'_>, principal: Option<&Principal>) -> Reply {
        if let Some(reply) = unknown_version(head.mark()) {
            return reply;
        }
        if let Err(reply) = self.open_session(head, principal) {
            return *reply;
        }
        if let HeaderValues::One(id) = head.session
            && let Ok(id) = std::str::from_utf8(id)
        {
            self.sessions.end(id, principal);
        }
        Reply::empty(StatusCode::NO_CONTENT)
    }
}

/// Whether the session's revision wants streams to begin with an id, and with when to come back.
fn primes(open: &Open) -> bool {
    let state = open.session.legacy();
    state.is_some_and(|state| state.features().priming_event)
}

fn unknown_event() -> Reply {
    let message = "Last-Event-ID: that event is not known (any more); what is kept is bounded by \
                   Config::replay_events, replay_bytes, replay_session_bytes, replay_total_bytes, \
                   replay_time and max_streams";
    plain(StatusCode::BAD_REQUEST, message)
}

fn receive(
    session: &Arc<Session>,
    body: OneOrBatch<'_>,
    delivery: Delivery<'_>,
    route: &Arc<dyn Route>,
    cx: &mut Context<'_>,
) -> Received {
    match body {
        Some(message) => session.receive(message, None, delivery, route, cx),
        None => session.receive_batch(delivery, route, cx),
    }
}

/// The answer to a version header that names no revision. One that names another than the session's is let pass:
/// the session's counts.
fn unknown_version(mark: Mark<'_>) -> Option<Reply> {
    let Mark::Unknown(version) = mark else {
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
    Some(plain(StatusCode::BAD_REQUEST, &message))
}
