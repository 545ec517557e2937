//! Drives a duplex connection: frames in, handlers polled until the input is drained, one flush.
//!
//! Both eras share the pipe. A request with an envelope is judged by that, whatever came before
//! it; the others belong to the session that a handshake opened.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{self, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Sleep;
use turnbuckle_types::{Error, RequestId};
use turnbuckle_wire::era::{MessageEra, Params, VersionHeader, message_era};
use turnbuckle_wire::revision::Revision;
use turnbuckle_wire::rpc::{self, DecodeError, DecodeErrorKind, Message};

use crate::server::admission::DispatchHandle;
use crate::server::session::InboundFrame;
use crate::shared::outgoing::Outgoing;
use crate::shared::reply_sink::{EncodedResponse, ReplySink};
use crate::{
    Binding, Dispatch, Frame, Limits, MessageOutcome, RateAccount, Session, Signal, Transport,
    TransportContext,
};

/// How long a stop may be held up by a peer that has not read everything yet.
const LAST: Duration = Duration::from_millis(200);

/// Frames that are taken before what they caused is sent.
const BURST: usize = 16;

/// How a connection ended.
#[derive(Debug)]
pub enum CloseReason {
    /// The peer sent its last message; what it had asked was answered, or given up.
    ByPeer,
    /// The server was asked to stop.
    ByServer,
    /// The connection broke.
    Broken(io::Error),
}

/// Serves one connection until it ends. Everything that belongs to it ends with it, also when the
/// future is dropped. `stop` ends it at once: what runs is cancelled, and only
/// what was answered already is still written.
pub async fn serve<T: Transport>(
    dispatch: impl Into<Arc<dyn Dispatch>>,
    transport: T,
    limits: Limits,
    context: TransportContext,
    stop: Signal,
) -> CloseReason {
    let account = RateAccount::new(&limits);
    serve_with_account(account, dispatch.into(), transport, limits, context, stop).await
}

/// The same for a connection that is counted on an account with others.
#[doc(hidden)]
pub async fn serve_with_account<T: Transport>(
    account: Arc<RateAccount>,
    dispatch: Arc<dyn Dispatch>,
    transport: T,
    limits: Limits,
    context: TransportContext,
    stop: Signal,
) -> CloseReason {
    let outgoing = Arc::new(Outgoing::new(limits.max_queue_bytes));
    let route: Arc<dyn ReplySink> = outgoing.clone();
    let session = Session::at(
        Arc::new(DispatchHandle::new(dispatch)),
        Binding::Duplex,
        limits,
        route.clone(),
        account,
    );
    let end = EndOnDrop {
        session: session.clone(),
        outgoing: outgoing.clone(),
    };
    let mut pipe = Pipe {
        transport,
        session,
        outgoing,
        route,
        context,
        input: Input::Open,
        owed: 0,
    };
    let mut closing = None;
    let session = pipe.session.clone();
    let mut stopped = std::pin::pin!(stop.cancelled());
    let mut ended = std::pin::pin!(session.ended().cancelled());
    let mut watched: Option<(Waker, bool)> = None;
    let closed = poll_fn(|cx| {
        // Who watches already and was not woken by them need not ask them again.
        let ending = stop.is_closing() || session.ended().is_closing();
        let watches =
            |(waker, then): &(Waker, bool)| waker.will_wake(cx.waker()) && *then == ending;
        if !watched.as_ref().is_some_and(watches) {
            watched = Some((cx.waker().clone(), ending));
            let _ = (stopped.as_mut().poll(cx), ended.as_mut().poll(cx));
        }
        if stop.is_cancelled() {
            return Poll::Ready(CloseReason::ByServer);
        }
        if session.ended().is_cancelled() {
            // Only a client that does not answer ends its session while the connection stands.
            return Poll::Ready(CloseReason::Broken(io::ErrorKind::TimedOut.into()));
        }
        pipe.poll(&mut closing, cx)
    })
    .await;
    if matches!(closed, CloseReason::ByServer) {
        pipe.last_flush().await;
    }
    drop(end);
    closed
}

struct EndOnDrop {
    session: Arc<Session>,
    outgoing: Arc<Outgoing>,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.outgoing.close();
        self.session.end();
    }
}

enum Input {
    Open,
    Ended,
}

struct Pipe<T> {
    transport: T,
    session: Arc<Session>,
    outgoing: Arc<Outgoing>,
    route: Arc<dyn ReplySink>,
    context: TransportContext,
    input: Input,
    /// How many requests and batches were left to end by their route: so many ends will come there.
    owed: u64,
}

impl<T: Transport> Pipe<T> {
    fn poll(
        &mut self,
        closing: &mut Option<std::pin::Pin<Box<Sleep>>>,
        cx: &mut task::Context<'_>,
    ) -> Poll<CloseReason> {
        let mut taken = 0;
        loop {
            let mut drained = matches!(self.input, Input::Ended);
            while !drained && taken < BURST && self.transport.queued_bytes() <= self.outgoing.cap {
                taken += 1;
                match self.transport.poll_frame(cx) {
                    Poll::Ready(Some(frame)) => self.take(&frame, cx),
                    Poll::Ready(None) => {
                        self.input = Input::Ended;
                        self.session.wind_down();
                        let drain = self.session.limits().drain_timeout;
                        let sleep = tokio::time::sleep(drain);
                        *closing = Some(Box::pin(sleep));
                        drained = true;
                    }
                    Poll::Pending => drained = true,
                }
            }
            self.send_waiting(cx);
            match self.transport.poll_flush(cx) {
                Poll::Ready(Err(error)) => return Poll::Ready(CloseReason::Broken(error)),
                // Written: more may be read if that was what held the input back.
                Poll::Ready(Ok(())) if !drained && taken < BURST => {}
                Poll::Ready(Ok(())) | Poll::Pending => {
                    if matches!(self.input, Input::Ended) {
                        return self.poll_end(closing, cx);
                    }
                    if taken >= BURST {
                        cx.waker().wake_by_ref();
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    /// The input has ended: what was read is still answered, for a while.
    fn poll_end(
        &mut self,
        closing: &mut Option<std::pin::Pin<Box<Sleep>>>,
        cx: &mut task::Context<'_>,
    ) -> Poll<CloseReason> {
        let late = closing
            .as_mut()
            .is_none_or(|sleep| sleep.as_mut().poll(cx).is_ready());
        let queue = self.outgoing.state();
        // A handler that has ended may still be encoding its answer: only the route knows.
        let all_said = queue.done == self.owed && queue.frames.is_empty();
        drop(queue);
        if (all_said && self.transport.queued_bytes() == 0) || late {
            Poll::Ready(CloseReason::ByPeer)
        } else {
            Poll::Pending
        }
    }

    /// Lets what is ready leave before the connection is dropped, so that nobody reads half a
    /// message; a peer that reads nothing any more is not waited for long.
    async fn last_flush(&mut self) {
        let patience = self.session.limits().drain_timeout.min(LAST);
        let flush = poll_fn(|cx| self.transport.poll_flush(cx));
        let _ = tokio::time::timeout(patience, flush).await;
    }

    /// Moves what others sent, and notices of change, to the transport, up to its cap.
    fn send_waiting(&mut self, cx: &mut task::Context<'_>) {
        self.outgoing.drain_into(&mut self.transport, cx);
        if !self
            .session
            .legacy()
            .is_some_and(|state| state.is_initialized())
        {
            return;
        }
        while self.transport.queued_bytes() <= self.outgoing.cap {
            let Poll::Ready(Some(change)) = self.session.feed().poll_next(cx) else {
                break;
            };
            self.transport.queue(&change.to_notification(None));
        }
    }

    fn take(&mut self, frame: &Frame, cx: &mut task::Context<'_>) {
        let received = match frame {
            Frame::TooLong { limit } => MessageOutcome::Response(self.too_long(*limit)),
            Frame::Message(frame) => self.receive(frame, cx),
        };
        let answer = match received {
            MessageOutcome::Response(answer) => answer,
            MessageOutcome::Pending | MessageOutcome::Held(_) => {
                self.owed += 1;
                return;
            }
            MessageOutcome::NoResponse => return,
        };
        // What its handler said before goes first.
        let mut state = self.outgoing.state();
        let moved = !state.frames.is_empty();
        while let Some(frame) = state.frames.pop_front() {
            state.bytes -= frame.len();
            self.transport.queue(&frame);
        }
        drop(state);
        if moved {
            // Whoever waited for room has it now.
            self.outgoing.space.notify_waiters();
        }
        self.transport.queue_parts(&answer.frame, &answer.tail);
    }

    fn receive(&self, frame: &Bytes, cx: &mut task::Context<'_>) -> MessageOutcome {
        let refuse =
            |refusal: &DecodeError| MessageOutcome::Response(self.session.encode_refusal(refusal));
        let Ok(text) = std::str::from_utf8(frame) else {
            return refuse(&DecodeError {
                kind: DecodeErrorKind::ParseError,
                id: None,
                message: "not JSON: the text is not UTF-8".into(),
            });
        };
        let delivery = InboundFrame {
            frame,
            text,
            transport: &self.context,
            account: None,
        };
        if text.starts_with('[') || (text.starts_with(' ') && rpc::is_batch(text)) {
            return self.session.receive_batch(delivery, &self.route, cx);
        }
        let message = match rpc::decode::<Params<'_>>(text) {
            Ok(message) => message,
            Err(refusal) if refusal.kind == DecodeErrorKind::InvalidNotification => {
                return MessageOutcome::NoResponse;
            }
            Err(refusal) => return refuse(&refusal),
        };
        let modern = match &message {
            Message::Request(request) => {
                match message_era(
                    VersionHeader::NotApplicable,
                    &request.method,
                    &request.params,
                ) {
                    MessageEra::Legacy => None,
                    MessageEra::Modern(revision) => Some(revision),
                    MessageEra::Invalid(error) => {
                        return MessageOutcome::Response(self.modern_error(&request.id, &error));
                    }
                }
            }
            // Only requests have to bring an envelope: the others are not judged by theirs.
            Message::Notification(_) | Message::Response(_) => None,
        };
        self.session
            .receive(message, modern, delivery, &self.route, cx)
    }

    #[cold]
    fn modern_error(&self, id: &RequestId, error: &Error) -> EncodedResponse {
        let mut frame = Vec::with_capacity(256);
        turnbuckle_wire::era::write_error(&mut frame, id, error, Revision::NEWEST.features());
        EncodedResponse {
            frame,
            tail: Bytes::new(),
            failure: Some(error.kind().clone()),
        }
    }

    #[cold]
    fn too_long(&self, limit: usize) -> EncodedResponse {
        self.session.encode_refusal(&DecodeError {
            kind: DecodeErrorKind::InvalidRequest,
            id: None,
            message: format!(
                "a message may be at most {limit} bytes long (StdioOptions::max_message_bytes); this one was \
                 skipped"
            )
            .into(),
        })
    }
}

#[cfg(test)]
mod tests;
