//! The body of an SSE response: the events of one exchange, or of a stream of a session.

use std::any::Any;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::internal::{NotificationFuture, QueuedFrame, ResponseStream, Session};
use turnbuckle_types::base::debug_fields;

use super::session_stream::StreamReader;
#[cfg(feature = "store")]
use super::stored::FollowedStream;
use crate::event;
use crate::shares::Share;
use crate::streams::keep_alive::KeepAlive;

/// The body of an SSE response.
pub(crate) struct EventStream {
    /// The events that are sent first.
    head: Option<Bytes>,
    source: Source,
    keep_alive: KeepAlive,
    /// The place among the streams on which clients listen, if it takes one.
    _share: Option<Share>,
    /// Dropped with the stream.
    _end: Option<Box<dyn Any + Send + Sync>>,
}

enum Source {
    /// An exchange. Dropping the body cancels its request.
    Exchange(ResponseStream),
    /// A stream of a legacy session. Dropping the body ends nothing.
    Stream(StreamReader),
    /// A stream of another instance. Dropping the body ends nothing.
    #[cfg(feature = "store")]
    Followed(FollowedStream),
    /// The stream of a legacy request without a session. Dropping the body ends the request, since
    /// its client cannot resume the stream.
    Single {
        reader: StreamReader,
        _end: Option<EndSessionOnDrop>,
    },
    /// The stream for messages that belong to no request.
    Standalone {
        reader: StreamReader,
        session: Arc<Session>,
        /// Finds out what changed while the client was away.
        catch_up: Option<CatchUp>,
        closing: Closing,
    },
}

/// A future in a mutex that is never locked, so that it can be shared between threads.
type CatchUp = Mutex<NotificationFuture>;

type Closing = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// Ends the session of a single POST when it is dropped.
pub(crate) struct EndSessionOnDrop(pub(crate) Arc<Session>);

impl Drop for EndSessionOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl EventStream {
    fn new(head: Option<Bytes>, source: Source, keep_alive: Duration) -> Self {
        Self {
            head,
            source,
            keep_alive: KeepAlive::new(keep_alive),
            _share: None,
            _end: None,
        }
    }

    /// Counts the stream as one on which a client listens.
    pub(crate) fn counting(mut self, share: impl Into<Option<Share>>) -> Self {
        self._share = share.into();
        self
    }

    /// Drops `end` with the stream.
    pub(crate) fn ending(mut self, end: Option<Box<dyn Any + Send + Sync>>) -> Self {
        self._end = end;
        self
    }

    pub(crate) fn of_exchange(
        head: Option<Bytes>,
        stream: ResponseStream,
        keep_alive: Duration,
    ) -> Self {
        Self::new(head, Source::Exchange(stream), keep_alive)
    }

    pub(crate) fn of_stream(
        head: Option<Bytes>,
        reader: StreamReader,
        keep_alive: Duration,
    ) -> Self {
        Self::new(head, Source::Stream(reader), keep_alive)
    }

    #[cfg(feature = "store")]
    pub(crate) fn of_followed(
        head: Option<Bytes>,
        stream: FollowedStream,
        keep_alive: Duration,
    ) -> Self {
        Self::new(head, Source::Followed(stream), keep_alive)
    }

    pub(crate) fn of_single_request(
        reader: StreamReader,
        end: Option<EndSessionOnDrop>,
        keep_alive: Duration,
    ) -> Self {
        Self::new(None, Source::Single { reader, _end: end }, keep_alive)
    }

    pub(crate) fn of_standalone(
        head: Option<Bytes>,
        reader: StreamReader,
        session: Arc<Session>,
        catch_up: Option<NotificationFuture>,
        shutdown: Signal,
        keep_alive: Duration,
    ) -> Self {
        let closing: Closing = Box::pin(async move { shutdown.closing().await });
        Self::new(
            head,
            Source::Standalone {
                reader,
                session,
                catch_up: catch_up.map(Mutex::new),
                closing,
            },
            keep_alive,
        )
    }

    pub(crate) fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = &mut *self;
        if let Some(head) = this.head.take() {
            return Poll::Ready(Some(head));
        }
        if let Poll::Ready(event) = this.source.poll_next(cx) {
            this.keep_alive.reset();
            return Poll::Ready(event);
        }
        let keep_alive = this.keep_alive.poll(cx);
        keep_alive.map(|()| Some(event::KEEP_ALIVE))
    }
}

impl Source {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self {
            Self::Exchange(stream) => stream.poll_next(cx).map(|next| {
                next.map(|frame| match frame {
                    QueuedFrame::Message(frame) => event::message(&frame).into(),
                    QueuedFrame::Response(mut response) => {
                        let memory = std::mem::take(&mut response.memory);
                        memory.attach(event::message(&response.into_bytes()))
                    }
                })
            }),
            #[cfg(feature = "store")]
            Self::Followed(stream) => stream.poll_next(cx),
            Self::Stream(reader) | Self::Single { reader, .. } => reader.poll_next(cx),
            Self::Standalone {
                reader,
                session,
                catch_up,
                closing,
            } => {
                if closing.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                if let Some(catching_up) = catch_up {
                    let catching_up = catching_up.get_mut();
                    let catching_up = catching_up.unwrap_or_else(PoisonError::into_inner);
                    if catching_up.as_mut().poll(cx).is_pending() {
                        return reader.poll_next(cx);
                    }
                    *catch_up = None;
                }
                // A change is taken once nothing waits before it, so that each is at the newest position.
                loop {
                    let next = reader.poll_next(cx);
                    if next.is_ready() || !reader.is_active() || !send_change(session, reader, cx) {
                        return next;
                    }
                }
            }
        }
    }
}

/// Sends the next change notification, once the client has sent `notifications/initialized`. Returns
/// whether there was one.
fn send_change(session: &Session, reader: &StreamReader, cx: &mut Context<'_>) -> bool {
    if !session.legacy().is_some_and(|state| state.is_initialized()) {
        return false;
    }
    let Poll::Ready(Some(pending)) = session.feed().poll_pending(cx) else {
        return false;
    };
    // A change without space is sent when there is some: the reader is then polled again.
    let stream = reader.stream();
    let send = |frame| stream.send_change(frame, pending.position);
    let is_sent = session.send_change(&pending.change, send);
    match session.legacy() {
        Some(state) if is_sent => state.set_change_position(pending.position),
        _ if is_sent => {}
        _ => session.feed().put_back(&pending),
    }
    is_sent
}

debug_fields!(EventStream { keep_alive });
