//! A response that is a stream of events: of one modern exchange, or of a stream of a session.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep};
use turnbuckle_session::{Outbox, Session, Signal};

use super::stream::{Reader, Stream};
use crate::event;

/// The body of a streamed response.
pub(crate) struct Events {
    /// What goes out first.
    head: Option<Bytes>,
    source: Source,
    keep_alive: Duration,
    quiet: Pin<Box<Sleep>>,
}

enum Source {
    /// A modern exchange. Dropping the body closes it.
    Exchange {
        outbox: Arc<Outbox>,
        _cancel: CancelOnDrop,
    },
    /// A stream of a legacy session. Dropping the body ends nothing.
    Stream { stream: Arc<Stream>, reader: Reader },
    /// The stream of what belongs to no request.
    General {
        stream: Arc<Stream>,
        reader: Reader,
        session: Arc<Session>,
        closing: Closing,
    },
}

type Closing = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// Gives up a request when nobody reads its answer any more.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(pub(crate) Signal, pub(crate) Arc<Outbox>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
        self.1.close();
    }
}

impl Events {
    fn new(head: Option<Bytes>, source: Source, keep_alive: Duration) -> Self {
        Self {
            head,
            source,
            keep_alive,
            quiet: Box::pin(tokio::time::sleep(keep_alive)),
        }
    }

    pub(crate) fn of_exchange(
        head: Option<Bytes>,
        outbox: Arc<Outbox>,
        cancel: CancelOnDrop,
        keep_alive: Duration,
    ) -> Self {
        Self::new(
            head,
            Source::Exchange {
                outbox,
                _cancel: cancel,
            },
            keep_alive,
        )
    }

    pub(crate) fn of_stream(
        head: Option<Bytes>,
        stream: Arc<Stream>,
        reader: Reader,
        keep_alive: Duration,
    ) -> Self {
        Self::new(head, Source::Stream { stream, reader }, keep_alive)
    }

    pub(crate) fn of_general(
        head: Option<Bytes>,
        stream: Arc<Stream>,
        reader: Reader,
        session: Arc<Session>,
        shutdown: Option<Signal>,
        keep_alive: Duration,
    ) -> Self {
        let closing: Closing = Box::pin(async move {
            match shutdown {
                Some(shutdown) => shutdown.closing().await,
                None => std::future::pending().await,
            }
        });
        Self::new(
            head,
            Source::General {
                stream,
                reader,
                session,
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
            this.quiet.as_mut().reset(Instant::now() + this.keep_alive);
            return Poll::Ready(event);
        }
        if this.quiet.as_mut().poll(cx).is_ready() {
            this.quiet.as_mut().reset(Instant::now() + this.keep_alive);
            // The new deadline has to be polled to wake us.
            let _ = this.quiet.as_mut().poll(cx);
            return Poll::Ready(Some(event::KEEP_ALIVE));
        }
        Poll::Pending
    }
}

impl Source {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self {
            Self::Exchange { outbox, .. } => outbox.poll_next(cx).map(|next| {
                next.map(|frame| match frame {
                    Ok(frame) => event::message(&frame).into(),
                    Err(answer) => event::message(&answer.frame).into(),
                })
            }),
            Self::Stream { stream, reader } => stream.poll_read(reader, cx),
            Self::General {
                stream,
                reader,
                session,
                closing,
            } => {
                if closing.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                if session.legacy().is_some_and(|state| state.is_initialized()) {
                    while let Poll::Ready(Some(change)) = session.feed().poll_next(cx) {
                        use turnbuckle_session::Route as _;
                        // A list that changed often still changed: a full log loses nothing new.
                        if stream.send(change.frame(None)).is_err() {
                            session.feed().tell(&change);
                            break;
                        }
                    }
                }
                stream.poll_read(reader, cx)
            }
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        match self {
            Self::Exchange { .. } => {}
            Self::Stream { stream, reader } | Self::General { stream, reader, .. } => {
                stream.detach(reader);
            }
        }
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events")
            .field("keep_alive", &self.keep_alive)
            .finish_non_exhaustive()
    }
}
