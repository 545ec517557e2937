//! Serves a duplex connection: reads frames, starts handlers until the input is drained, and
//! flushes once.
//!
//! Both eras share the connection. A request that carries an envelope is of the modern era,
//! whatever came before it. All others belong to the session that a handshake opened. Another
//! handshake ends that session with all that it had open, and opens the next.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Sleep;
use turnbuckle_wire::era::{MessageEra, VersionHeader};
use turnbuckle_wire::revision::{Method, MethodRole, Revision};
use turnbuckle_wire::rpc::{DecodeError, DecodeErrorKind, Message};
use turnbuckle_wire::{FrameKind, classify};

use crate::server::dispatch::Dispatch;
use crate::server::dispatch_handle::DispatchHandle;
use crate::server::inbound_frame::InboundFrame;
use crate::server::session::{MessageOutcome, Session};
use crate::shared::account::OwnerAccount;
use crate::shared::frame_queue::FrameQueue;
use crate::shared::limits::Limits;
use crate::shared::memory_budget::MemoryPermit;
use crate::shared::reply_sink::{EncodedResponse, ReplySink};
use crate::shared::signal::Signal;
use crate::shared::trace::count_refusal;
use crate::shared::transport::{Binding, Frame, Transport, TransportContext};

/// The longest time that a stopped connection waits for its client to read what was flushed.
const MAX_FINAL_FLUSH_TIMEOUT: Duration = Duration::from_millis(200);

/// Frames that are read before the responses to them are flushed.
const MAX_FRAMES_PER_FLUSH: usize = 16;

/// The reason why a connection ended.
#[derive(Debug)]
pub enum CloseReason {
    /// The client closed its side. Its requests were answered, or given up after
    /// [`Limits::drain_timeout`].
    ByPeer,
    /// The server was asked to stop.
    ByServer,
    /// The connection broke.
    Broken(io::Error),
}

/// Serves one connection until it ends. Everything that belongs to the connection ends with it,
/// also when the returned future is dropped.
///
/// `stop` ends the connection at once: running requests are cancelled, and only responses that are
/// ready are still written.
pub async fn serve<T: Transport>(
    dispatch: impl Into<Arc<dyn Dispatch>>,
    transport: T,
    limits: Limits,
    context: TransportContext,
    stop: Signal,
) -> CloseReason {
    let account = OwnerAccount::new(&limits);
    serve_with_account(account, dispatch.into(), transport, limits, context, stop).await
}

/// Serves one connection as [`serve`] does, with its rates counted on an account that it may share
/// with others.
pub async fn serve_with_account<T: Transport>(
    account: OwnerAccount,
    dispatch: Arc<dyn Dispatch>,
    transport: T,
    limits: Limits,
    context: TransportContext,
    stop: Signal,
) -> CloseReason {
    let queue = FrameQueue::with_max_bytes(limits.max_queue_bytes);
    let queue = Arc::new(queue.with_account(account.memory().clone()));
    let sink: Arc<dyn ReplySink> = queue.clone();
    let dispatch = Arc::new(DispatchHandle::new(dispatch));
    let limits = Arc::new(limits);
    let new_session = || {
        Session::new(
            dispatch.clone(),
            Binding::Duplex,
            limits.clone(),
            sink.clone(),
            account.clone(),
            true,
        )
    };
    let mut connection = Connection {
        transport,
        session: new_session(),
        queue,
        sink: sink.clone(),
        context,
        input_ended: false,
        pending: 0,
        previous: None,
        initialize: None,
        memory: account.memory().reserve_beyond_limits(0),
    };
    let reason = loop {
        match connection.serve_session(&stop).await {
            SessionEnd::Closed(reason) => break reason,
            SessionEnd::Superseded(initialize) => {
                connection.start_session(new_session(), &initialize);
            }
        }
    };
    if matches!(reason, CloseReason::ByServer) {
        connection.final_flush().await;
    }
    reason
}

/// The end of one session of a connection.
enum SessionEnd {
    /// The connection is closed.
    Closed(CloseReason),
    /// The client sent `initialize` once more: the frame begins another session.
    Superseded(Bytes),
}

/// A duplex connection that is being served. Everything that belongs to it ends when it is dropped.
struct Connection<T> {
    transport: T,
    session: Arc<Session>,
    /// The frames that handlers in tasks, and the session itself, send.
    queue: Arc<FrameQueue>,
    /// The queue of `outgoing`, as the sink that requests share.
    sink: Arc<dyn ReplySink>,
    context: TransportContext,
    input_ended: bool,
    /// Requests and batches that were pending when they were received. Each of them finishes on
    /// the queue once.
    pending: u64,
    /// The session before this one.
    previous: Option<Arc<Session>>,
    /// The frame that begins another session.
    initialize: Option<Bytes>,
    /// The memory of what waits in the transport.
    memory: MemoryPermit,
}

impl<T> Drop for Connection<T> {
    fn drop(&mut self) {
        self.queue.close();
        self.session.end();
    }
}

impl<T: Transport> Connection<T> {
    /// Serves the current session until it ends.
    async fn serve_session(&mut self, stop: &Signal) -> SessionEnd {
        let mut drain_timeout = None;
        let session = self.session.clone();
        let mut stopped = std::pin::pin!(stop.cancelled());
        let mut ended = std::pin::pin!(session.end_signal().cancelled());
        let mut watched: Option<(Waker, bool)> = None;
        poll_fn(|cx| {
            // Signals that hold the current waker and have not fired need not be polled again.
            let is_closing = stop.is_closing() || session.end_signal().is_closing();
            let is_watching =
                |(waker, then): &(Waker, bool)| waker.will_wake(cx.waker()) && *then == is_closing;
            if !watched.as_ref().is_some_and(is_watching) {
                watched = Some((cx.waker().clone(), is_closing));
                let _ = (stopped.as_mut().poll(cx), ended.as_mut().poll(cx));
            }
            if stop.is_cancelled() {
                return Poll::Ready(SessionEnd::Closed(CloseReason::ByServer));
            }
            if session.end_signal().is_cancelled() {
                // The session ends before its connection only if a ping was not answered.
                let reason = CloseReason::Broken(io::ErrorKind::TimedOut.into());
                return Poll::Ready(SessionEnd::Closed(reason));
            }
            match self.poll(&mut drain_timeout, cx) {
                Poll::Ready(reason) => Poll::Ready(SessionEnd::Closed(reason)),
                Poll::Pending => match self.initialize.take() {
                    Some(frame) => Poll::Ready(SessionEnd::Superseded(frame)),
                    None => Poll::Pending,
                },
            }
        })
        .await
    }

    /// Ends the session with all that it had open, and serves another one, which the frame begins.
    #[cold]
    fn start_session(&mut self, session: Arc<Session>, initialize: &Bytes) {
        let previous = std::mem::replace(&mut self.session, session);
        previous.end();
        self.previous = Some(previous);
        // The new session may use the same ids: responses to the old one would answer its requests.
        self.queue.clear();
        self.receive(&Frame::Message(initialize.clone()));
    }

    /// Returns whether a request begins another session on this connection, as gateways send one
    /// for each of their clients. Only once the handlers of the session before this one have ended, so
    /// that repeating it multiplies no limit.
    fn is_new_session(&self, method: &str) -> bool {
        Method::role_of(method) == MethodRole::Handshake
            && self.session.is_open()
            && self
                .previous
                .as_ref()
                .is_none_or(|previous| previous.is_idle())
    }

    fn poll(
        &mut self,
        drain_timeout: &mut Option<Pin<Box<Sleep>>>,
        cx: &mut task::Context<'_>,
    ) -> Poll<CloseReason> {
        let mut frames = 0;
        loop {
            let mut drained = self.input_ended;
            while !drained
                && frames < MAX_FRAMES_PER_FLUSH
                && self.transport.queued_bytes() <= self.queue.max_bytes()
            {
                frames += 1;
                match self.transport.poll_frame(cx) {
                    Poll::Ready(Some(frame)) => {
                        self.receive(&frame);
                        if self.initialize.is_some() {
                            return Poll::Pending;
                        }
                    }
                    Poll::Ready(None) => {
                        self.input_ended = true;
                        self.session.close_requests();
                        let sleep = tokio::time::sleep(self.session.limits().drain_timeout);
                        *drain_timeout = Some(Box::pin(sleep));
                        drained = true;
                    }
                    Poll::Pending => drained = true,
                }
            }
            self.queue_waiting_frames(cx);
            let flushed = self.transport.poll_flush(cx);
            let queued_bytes = self.transport.queued_bytes();
            if queued_bytes != self.memory.bytes() {
                self.memory.resize_beyond_limits(queued_bytes);
            }
            match flushed {
                Poll::Ready(Err(error)) => return Poll::Ready(CloseReason::Broken(error)),
                // Flushed: more can be read if the full transport was what held the input back.
                Poll::Ready(Ok(())) if !drained && frames < MAX_FRAMES_PER_FLUSH => {}
                Poll::Ready(Ok(())) | Poll::Pending => {
                    if self.input_ended {
                        return self.poll_drained(drain_timeout, cx);
                    }
                    if frames >= MAX_FRAMES_PER_FLUSH {
                        cx.waker().wake_by_ref();
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    /// Polls for the end of a connection whose input has ended: everything was answered and
    /// written, or the time for that is over.
    fn poll_drained(
        &mut self,
        drain_timeout: &mut Option<Pin<Box<Sleep>>>,
        cx: &mut task::Context<'_>,
    ) -> Poll<CloseReason> {
        let timed_out = drain_timeout
            .as_mut()
            .is_none_or(|sleep| sleep.as_mut().poll(cx).is_ready());
        // A handler that has ended may still be encoding its response: only the queue knows.
        let is_drained = self.queue.is_drained(self.pending) && self.transport.queued_bytes() == 0;
        if !is_drained && !timed_out {
            return Poll::Pending;
        }
        // The drain of HTTP+SSE ends with the server, which counts it.
        if !is_drained && self.context.http.is_none() {
            count_refusal("Limits::drain_timeout");
            tracing::debug!(
                "requests were not answered in time after the end of the input \
                 (Limits::drain_timeout) and are given up"
            );
        }
        Poll::Ready(CloseReason::ByPeer)
    }

    /// Flushes responses that are ready before the connection is dropped, so that the client does
    /// not read half a message. Does not wait long for a client that does not read.
    async fn final_flush(&mut self) {
        let drain_timeout = self.session.limits().drain_timeout;
        let timeout = drain_timeout.min(MAX_FINAL_FLUSH_TIMEOUT);
        let flush = poll_fn(|cx| self.transport.poll_flush(cx));
        let _ = tokio::time::timeout(timeout, flush).await;
    }

    /// Moves queued frames and change notifications to the transport, as far as there is space.
    fn queue_waiting_frames(&mut self, cx: &mut task::Context<'_>) {
        self.queue.drain_into(&mut self.transport, cx);
        let legacy = self.session.legacy();
        if !legacy.is_some_and(|legacy| legacy.is_initialized()) {
            return;
        }
        while self.transport.queued_bytes() <= self.queue.max_bytes() {
            let Poll::Ready(Some(change)) = self.session.feed().poll_next(cx) else {
                break;
            };
            self.session.send_change(&change, |frame| {
                self.transport.queue(&frame);
                true
            });
        }
    }

    fn receive(&mut self, frame: &Frame) {
        let outcome = match frame {
            Frame::TooLong { limit } => MessageOutcome::Response(self.refuse_too_long(*limit)),
            Frame::Message(frame) => self.receive_message(frame),
        };
        match outcome {
            MessageOutcome::Response(response) => {
                // The messages that the handler sent go before its response.
                self.queue.move_all_to(&mut self.transport);
                self.transport.queue_parts(&response.frame, &response.tail);
            }
            MessageOutcome::Pending => self.pending += 1,
            MessageOutcome::NoResponse => {}
        }
    }

    fn receive_message(&mut self, frame: &Bytes) -> MessageOutcome {
        let inbound = |text| InboundFrame {
            frame,
            text,
            transport: &self.context,
            headers: None,
            account: None,
            foreign: None,
        };
        let (text, message, era) = match classify(frame, VersionHeader::NotApplicable) {
            FrameKind::Invalid(error) if error.kind == DecodeErrorKind::InvalidNotification => {
                return MessageOutcome::NoResponse;
            }
            FrameKind::Invalid(error) => {
                let response = self.session.refuse(&error, None, &self.context);
                return MessageOutcome::Response(response);
            }
            FrameKind::Batch(text) => return self.session.receive_batch(inbound(text), &self.sink),
            FrameKind::Message { text, message, era } => (text, message, era),
        };
        let modern = match (era, &message) {
            (MessageEra::Modern(revision), Message::Request(_)) => Some(revision),
            (MessageEra::Invalid(error), Message::Request(request)) => {
                let dispatch = self.session.dispatch();
                let features = Revision::NEWEST.features();
                let response = dispatch.refuse(request, error, features, &self.context);
                return MessageOutcome::Response(response);
            }
            (_, Message::Request(request)) if self.is_new_session(&request.method) => {
                self.initialize = Some(frame.clone());
                return MessageOutcome::NoResponse;
            }
            // Only requests carry an envelope.
            _ => None,
        };
        self.session
            .receive(message, modern, inbound(text), &self.sink)
    }

    #[cold]
    fn refuse_too_long(&self, limit: usize) -> EncodedResponse {
        let refusal = DecodeError {
            kind: DecodeErrorKind::InvalidRequest,
            id: None,
            message: format!(
                "a message may be at most {limit} bytes long (StdioOptions::max_message_bytes); this one was \
                 skipped"
            )
            .into(),
        };
        let limit = Some("StdioOptions::max_message_bytes");
        self.session.refuse(&refusal, limit, &self.context)
    }
}

#[cfg(test)]
mod tests;
