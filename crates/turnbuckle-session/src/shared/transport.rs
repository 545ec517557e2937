//! What a transport is to a session: frames in, frames out, and what it knows beside them.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use turnbuckle_types::Principal;

use crate::Signal;

/// A connection that carries frames both ways, each frame one message or one batch.
///
/// A byte stream with newlines between messages is one; so is a pair of queues.
pub trait Transport: Send {
    /// The next frame; `None` once no more will come.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame>>;

    /// Takes a frame to be sent. It leaves with the next [`poll_flush`](Self::poll_flush).
    fn queue(&mut self, frame: &[u8]);

    /// The same of a frame in two parts.
    fn queue_parts(&mut self, head: &[u8], tail: &[u8]) {
        match tail {
            [] => self.queue(head),
            tail => self.queue(&[head, tail].concat()),
        }
    }

    /// How many bytes wait to be sent.
    fn queued_bytes(&self) -> usize;

    /// Sends what was queued.
    ///
    /// # Errors
    /// When the connection is broken: nothing can be sent any more.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// What comes out of a transport.
pub enum Frame {
    /// One message or batch.
    Message(Bytes),
    /// A frame over the transport's cap was skipped.
    TooLong {
        /// The cap, in bytes.
        limit: usize,
    },
}

/// What a message says is in no log.
impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(frame) => f
                .debug_struct("Message")
                .field("bytes", &frame.len())
                .finish_non_exhaustive(),
            Self::TooLong { limit } => f.debug_struct("TooLong").field("limit", limit).finish(),
        }
    }
}

/// How a transport delivers and cancels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// One channel for everything; a request is cancelled by a message.
    Duplex,
    /// Every request has its own exchange; closing it is how it is cancelled.
    Exchange,
    /// A session over exchanges: a request is cancelled by a message, its connection may be lost.
    Session,
}

/// The HTTP request that a message came in, where it came in one.
pub trait HttpHead: Send + Sync {
    /// The method, such as `POST`.
    fn method(&self) -> &str;

    /// The path and query that were asked for.
    fn target(&self) -> &str;

    /// A header, by its name in any case; the first, where there are several, and only if it is
    /// text. What carries credentials is not shown: `Authorization`, `Proxy-Authorization` and
    /// `Cookie` are the business of what stands in front.
    fn header(&self, name: &str) -> Option<&str>;
}

/// What a transport knows of a message beside its bytes.
#[derive(Clone, Default)]
pub struct TransportContext {
    /// On whose behalf the message came, where something in front of the transport established it.
    pub principal: Option<Arc<Principal>>,
    /// Tells when the transport is about to shut down.
    pub shutdown: Option<Signal>,
    /// The HTTP request, for a dispatch that [reads](crate::Dispatch::reads_http) it.
    pub http: Option<Arc<dyn HttpHead>>,
}

impl fmt::Debug for TransportContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportContext")
            .field("principal", &self.principal)
            .field("shutdown", &self.shutdown)
            .finish_non_exhaustive()
    }
}
