//! Requests of the legacy era: sessions, their streams, and replay.
//!
//! Specification: basic/transports, "Streamable HTTP" (2025-11-25, 2025-06-18, 2025-03-26).

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::internal::{
    InboundFrame, MessageOutcome, NotificationFuture, ReplySink, Session,
};
use turnbuckle_types::base::change_position::ChangePosition;
use turnbuckle_wire::era::NamedRevision;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::era::headers::HeaderValues;
use turnbuckle_wire::revision::{Features, Method, MethodRole, Revision};
use turnbuckle_wire::rpc::Message;

use super::endpoint::{RequestSender, StreamableEndpoint, legacy_reply, response_reply};
use super::pending_post::{PendingPost, PostOutcome};
use super::post_sink::PostSink;
use super::session_mode::SessionMode;
use super::sessions::HttpSession;
use crate::event;
#[cfg(feature = "store")]
use crate::event::EventId;
use crate::reply::ResponseBody;
#[cfg(feature = "store")]
use crate::reply::store_reply;
use crate::reply::{HttpReply, accepted_reply, error_reply, exceeded_reply, stream_reply};
use crate::request::head::RequestHeaders;
use crate::shares::{Exceeded, Share};
#[cfg(feature = "store")]
use crate::streams::StreamCopies;
use crate::streams::{EndSessionOnDrop, EventStream, SessionStream, StreamReader};

/// Characters of an unknown version that an error repeats.
const MAX_SHOWN_CHARS: usize = 64;

/// A posted message, or `None` for a batch, which is taken apart later.
pub(super) type OneOrBatch<'a> = Option<Message<'a, Params<'a>>>;

impl StreamableEndpoint {
    pub(super) fn post_legacy(
        &self,
        head: &RequestHeaders<'_>,
        mark: NamedRevision<'_>,
        message: Message<'_, Params<'_>>,
        frame: InboundFrame<'_>,
        sender: RequestSender<'_>,
    ) -> PostOutcome<'_> {
        if let Some(reply) = unknown_version_reply(mark) {
            return reply.into();
        }
        let handshake = match &message {
            Message::Request(request) => match Method::role_of(&request.method) {
                MethodRole::Handshake => Some(self.identify(sender)),
                _ => None,
            },
            _ => None,
        };
        if let (Some(client), Message::Request(request)) = (handshake, &message) {
            let account = self.server.account(sender.principal, frame.account);
            if let Err(error) = self.clients.admit_handshake(client, &account) {
                let revision = Revision::NEWEST_LEGACY;
                let refused = self
                    .server
                    .refuse(request, error, revision, frame.transport);
                return response_reply(refused, StatusCode::TOO_MANY_REQUESTS).into();
            }
        }
        let body = Some(message);
        match (&self.mode, handshake, head.session_id) {
            (SessionMode::Stateless, ..) => {
                self.post_single(handshake.is_some(), mark, body, frame)
            }
            (_, Some(_), HeaderValues::Missing) => self.post_initialize(body, frame, sender),
            _ => match self.find_session(head, sender) {
                Ok(open) => self.post_in_session(&open, body, frame),
                Err(reply) => PostOutcome::Reply(*reply),
            },
        }
    }

    pub(super) fn post_batch(
        &self,
        head: &RequestHeaders<'_>,
        mark: NamedRevision<'_>,
        frame: InboundFrame<'_>,
        sender: RequestSender<'_>,
    ) -> PostOutcome<'_> {
        if matches!(mark, NamedRevision::Modern(_)) {
            let message = "a body is one message in this revision";
            return error_reply(StatusCode::BAD_REQUEST, message).into();
        }
        if let Some(reply) = unknown_version_reply(mark) {
            return reply.into();
        }
        if matches!(self.mode, SessionMode::Stateless) {
            return self.post_single(false, mark, None, frame);
        }
        match self.find_session(head, sender) {
            Ok(open) => self.post_in_session(&open, None, frame),
            Err(reply) => PostOutcome::Reply(*reply),
        }
    }

    /// Returns the session that a request names.
    pub(super) fn find_session(
        &self,
        head: &RequestHeaders<'_>,
        sender: RequestSender<'_>,
    ) -> Result<Arc<HttpSession>, Box<HttpReply>> {
        if let SessionMode::Unavailable(fault) = self.mode {
            return Err(Box::new(error_reply(
                StatusCode::INTERNAL_SERVER_ERROR,
                fault,
            )));
        }
        if let Some(open) = sender.session {
            return Ok(open.clone());
        }
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
        let unknown = || {
            Box::new(error_reply(
                StatusCode::NOT_FOUND,
                "there is no such session (any more); one that is idle ends after \
                 HttpTimeouts::session_idle_timeout or handshake_timeout",
            ))
        };
        let id = std::str::from_utf8(id).map_err(|_| unknown())?;
        let found = match &self.mode {
            SessionMode::Sealed(ids) => self.unseal(ids, id, sender)?,
            _ => self.sessions.get(id, sender.principal),
        };
        found.ok_or_else(unknown)
    }

    /// Returns the features of the sender of a frame that could not be decoded, as far as the
    /// headers tell.
    pub(super) fn sender_features(
        &self,
        head: &RequestHeaders<'_>,
        sender: RequestSender<'_>,
    ) -> Option<&'static Features> {
        let named = match head.mark() {
            NamedRevision::Modern(revision) => return Some(revision.features()),
            NamedRevision::Legacy(revision) => Some(revision.features()),
            NamedRevision::None | NamedRevision::Unknown(_) => None,
        };
        let open = match head.session_id {
            HeaderValues::One(_) => self.find_session(head, sender).ok(),
            _ => None,
        };
        let state = open.and_then(|open| Some(open.session.legacy()?.features()));
        state.or(named)
    }

    fn post_in_session(
        &self,
        open: &Arc<HttpSession>,
        body: OneOrBatch<'_>,
        frame: InboundFrame<'_>,
    ) -> PostOutcome<'_> {
        let wants_answer = !matches!(&body, Some(Message::Notification(_) | Message::Response(_)));
        if !wants_answer {
            let sink: Arc<dyn ReplySink> = open.standalone.clone();
            receive(&open.session, body, frame, &sink);
            // The standalone stream may have waited for the end of the handshake.
            open.standalone.wake_reader();
            return accepted_reply().into();
        }
        let post = PostSink::of_session(open, body.as_ref(), frame);
        self.serve_session(&open.session, post, None, body, frame)
    }

    /// Serves a body that wants a response. `end` ends the session, if it serves this POST alone.
    fn serve_session(
        &self,
        session: &Arc<Session>,
        post_sink: Arc<PostSink>,
        end: Option<EndSessionOnDrop>,
        body: OneOrBatch<'_>,
        frame: InboundFrame<'_>,
    ) -> PostOutcome<'_> {
        let sink: Arc<dyn ReplySink> = post_sink.clone();
        match receive(session, body, frame, &sink) {
            MessageOutcome::NoResponse => return accepted_reply().into(),
            MessageOutcome::Response(response) if post_sink.is_silent() => {
                return legacy_reply(response).into();
            }
            MessageOutcome::Response(response) => post_sink.finish(Some(response)),
            MessageOutcome::Pending => {}
        }
        PostOutcome::Pending(PendingPost::session(self, post_sink, end))
    }

    /// Returns the SSE stream of a session's POST, which is kept for replay. Events that are ready
    /// leave in one write.
    pub(super) fn stream_post(
        &self,
        open: &HttpSession,
        #[cfg(feature = "store")] sink: &PostSink,
        reader: StreamReader,
    ) -> HttpReply {
        let own = reader.stream();
        let kept = open.is_resumable() && open.keep(own, &self.options);
        own.start_streaming(kept);
        #[cfg(feature = "store")]
        if kept {
            sink.copy_stream();
        }
        let mut events = Vec::new();
        if kept && has_priming_event(open) {
            event::append_priming_event(
                &mut events,
                own.name(),
                self.options.replay.reconnect_delay,
            );
        }
        if reader.read_available(&mut events) {
            // The log has a copy of its own.
            let memory = own.account().reserve_beyond_limits(events.len());
            return stream_reply(ResponseBody::full(memory.attach(events)));
        }
        let head = (!events.is_empty()).then(|| events.into());
        let events =
            EventStream::of_stream(head, reader, self.options.timeouts.keep_alive_interval);
        stream_reply(ResponseBody::events(events))
    }

    /// Serves a POST without a session.
    fn post_single(
        &self,
        opens: bool,
        mark: NamedRevision<'_>,
        body: OneOrBatch<'_>,
        frame: InboundFrame<'_>,
    ) -> PostOutcome<'_> {
        let revision = match mark {
            NamedRevision::Legacy(revision) => revision,
            _ => Revision::DEFAULT_WITHOUT_HEADER,
        };
        // `initialize` is answered by a session, and the messages of a batch share one.
        let body = match body {
            Some(Message::Request(request)) if !opens => {
                return self.serve_exchange(&request, revision, frame, legacy_reply, None);
            }
            body => body,
        };
        let principal = frame.transport.principal.as_deref();
        let account = self.server.account(principal, frame.account);
        let account = account.into_owned();
        let budget = self.sessions.replay_budget().clone();
        let own = SessionStream::new(1, budget, account.memory().clone());
        own.expect_reader();
        let session =
            self.server
                .new_stateless_session((!opens).then_some(revision), own.clone(), account);
        // A client that disconnects can neither resume the stream nor cancel its request.
        let end = EndSessionOnDrop(session.clone());
        self.serve_session(&session, PostSink::single(own), Some(end), body, frame)
    }

    /// Serves a GET: the standalone stream of a session, or a stream that the client resumes.
    pub(super) async fn get(
        &self,
        head: &RequestHeaders<'_>,
        sender: RequestSender<'_>,
    ) -> HttpReply {
        if let Some(reply) = unknown_version_reply(head.mark()) {
            return reply;
        }
        if !head.accepts_events {
            return error_reply(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream");
        }
        let open = match self.find_listened(head, sender).await {
            Ok(open) => open,
            Err(reply) => return *reply,
        };
        let share = match self.listening.take(self.identify(sender)) {
            Ok(share) => share,
            Err(exceeded) => return exceeded_listening(exceeded),
        };
        match head.last_event_id {
            HeaderValues::Missing => {
                let legacy = open.session.legacy();
                let told = legacy.and_then(|legacy| legacy.change_position());
                self.open_standalone(&open, told, share)
            }
            HeaderValues::One(id) => self.resume_stream(&open, id, share).await,
            HeaderValues::Repeated => unknown_event_reply(),
        }
    }

    /// Returns another connection of the standalone stream. With a position in the log of changes, the
    /// client is told of all changes since.
    fn open_standalone(
        &self,
        open: &Arc<HttpSession>,
        since: Option<ChangePosition>,
        share: Share,
    ) -> HttpReply {
        let Some(reader) = open.standalone.attach(None) else {
            return unknown_event_reply();
        };
        let (after, number) = (reader.began_after(), reader.number());
        let position = since.unwrap_or_else(|| open.session.feed().position());
        let name = open.standalone.name_at(position);
        let head = has_priming_event(open).then(|| {
            let delay = self.options.replay.reconnect_delay;
            event::priming_event_at(&name, after, number, delay)
        });
        let catch_up = since.and_then(|since| catch_up(open, since));
        self.standalone_reply(head, open, reader, catch_up, share)
    }

    /// Returns a stream that continues after the event with this id.
    async fn resume_stream(&self, open: &Arc<HttpSession>, id: &[u8], share: Share) -> HttpReply {
        let head = has_priming_event(open)
            .then(|| event::resumed_event(id, self.options.replay.reconnect_delay));
        let Some(id) = event::parse_event_id(id) else {
            return unknown_event_reply();
        };
        let Some(reader) = open.attach(&id) else {
            if id.changes.is_some() {
                return self.open_standalone(open, id.changes, share);
            }
            #[cfg(feature = "store")]
            if let Some(copies) = &open.copies {
                // On the heap, so that the futures of other requests stay small.
                return Box::pin(self.follow_stream(open, copies, &id, head, share)).await;
            }
            return unknown_event_reply();
        };
        if Arc::ptr_eq(reader.stream(), &open.standalone) {
            return self.standalone_reply(head, open, reader, None, share);
        }
        let events =
            EventStream::of_stream(head, reader, self.options.timeouts.keep_alive_interval);
        stream_reply(ResponseBody::events(events.counting(share)))
    }

    /// Returns a stream that another instance serves, or that is no longer in the memory of this one.
    #[cfg(feature = "store")]
    async fn follow_stream(
        &self,
        open: &HttpSession,
        copies: &StreamCopies,
        after: &EventId<'_>,
        head: Option<Bytes>,
        share: Share,
    ) -> HttpReply {
        let account = open.standalone.account().clone();
        let shutdown = Signal::clone(&self.shutdown);
        match copies.follow(after, account, shutdown).await {
            Ok(Some(stream)) => {
                let keep_alive = self.options.timeouts.keep_alive_interval;
                let events = EventStream::of_followed(head, stream, keep_alive);
                stream_reply(ResponseBody::events(events.counting(share)))
            }
            Ok(None) => unknown_event_reply(),
            Err(error) => store_reply(&error),
        }
    }

    fn standalone_reply(
        &self,
        head: Option<Bytes>,
        open: &Arc<HttpSession>,
        reader: StreamReader,
        catch_up: Option<NotificationFuture>,
        share: Share,
    ) -> HttpReply {
        #[cfg(feature = "store")]
        if let Some(remote) = open.standalone.remote_reader() {
            remote.set_here();
        }
        #[cfg(feature = "store")]
        let end = self.stored.as_ref().map(|stored| {
            // The record may have changed before this reader was attached.
            stored.refresh(open);
            stored.save_position(open)
        });
        #[cfg(not(feature = "store"))]
        let end = None;
        let (session, shutdown) = (open.session.clone(), Signal::clone(&self.shutdown));
        let keep_alive = self.options.timeouts.keep_alive_interval;
        let events =
            EventStream::of_standalone(head, reader, session, catch_up, shutdown, keep_alive);
        stream_reply(ResponseBody::events(events.counting(share).ending(end)))
    }
}

/// Returns whether streams of the session begin with a priming event: an id, and the delay after
/// which to reconnect.
fn has_priming_event(open: &HttpSession) -> bool {
    let state = open.session.legacy();
    open.is_resumable() && state.is_some_and(|state| state.features().priming_event)
}

/// Returns the reply to a request that opens a stream to listen on, when a bound leaves no room.
pub(super) fn exceeded_listening(exceeded: Exceeded) -> HttpReply {
    exceeded_reply(
        exceeded,
        "listening streams",
        "HttpLimits::max_listening_streams",
    )
}

fn unknown_event_reply() -> HttpReply {
    let message = "Last-Event-ID: that event is not known (any more); ReplayLimits bounds the kept events by \
                   max_stream_events, max_stream_bytes, max_session_bytes, max_total_bytes and \
                   stream_ttl, HttpLimits by max_streams";
    error_reply(StatusCode::BAD_REQUEST, message)
}

pub(super) fn receive(
    session: &Arc<Session>,
    body: OneOrBatch<'_>,
    frame: InboundFrame<'_>,
    sink: &Arc<dyn ReplySink>,
) -> MessageOutcome {
    match body {
        Some(message) => session.receive(message, None, frame, sink),
        None => session.receive_batch(frame, sink),
    }
}

/// Returns a future that tells the client of a session what has changed since a position.
fn catch_up(open: &HttpSession, since: ChangePosition) -> Option<NotificationFuture> {
    #[cfg(feature = "store")]
    return open.session.catch_up(since);
    #[cfg(not(feature = "store"))]
    {
        let _ = (open, since);
        None
    }
}

/// Returns the reply to a version header that names no revision. A header that names another
/// revision than the session's is ignored.
pub(super) fn unknown_version_reply(mark: NamedRevision<'_>) -> Option<HttpReply> {
    let NamedRevision::Unknown(version) = mark else {
        return None;
    };
    let supported: Vec<&str> = Revision::ALL
        .iter()
        .map(|revision| revision.as_str())
        .collect();
    let version: String = version.chars().take(MAX_SHOWN_CHARS).collect();
    let message = format!(
        "MCP-Protocol-Version {version:?} is not supported; these are: {}",
        supported.join(", ")
    );
    Some(error_reply(StatusCode::BAD_REQUEST, &message))
}
