//! The interface between transports and sessions: frames in, frames out, and what a transport knows
//! about them.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use turnbuckle_types::base::debug_fields;

use bytes::Bytes;
use turnbuckle_types::Principal;

use crate::shared::signal::Signal;

/// A duplex connection. Each frame is one message or one batch.
///
/// Examples are a byte stream with newlines between messages, and a pair of queues in memory.
pub trait Transport: Send {
    /// Polls for the next frame. `None` is the end of the input.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame>>;

    /// Queues a frame. It is sent with the next [`poll_flush`](Self::poll_flush).
    fn queue(&mut self, frame: &[u8]);

    /// Queues a frame that is given in two parts.
    fn queue_parts(&mut self, head: &[u8], tail: &[u8]) {
        match tail {
            [] => self.queue(head),
            tail => self.queue(&[head, tail].concat()),
        }
    }

    /// Returns the number of bytes that are queued.
    fn queued_bytes(&self) -> usize;

    /// Sends the queued frames.
    ///
    /// # Errors
    /// Returns an error when the connection is broken and nothing can be sent any more.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// A frame that a transport received.
pub enum Frame {
    /// One message or batch.
    Message(Bytes),
    /// A frame that was longer than the transport allows and was skipped.
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
}

/// Shows the size of a message only: contents do not go into logs.
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

/// The way in which a transport delivers and cancels requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// One connection for all messages. A message cancels a request.
    Duplex,
    /// An HTTP exchange for each request. Closing the exchange cancels the request.
    Exchange,
    /// A session over HTTP exchanges. A message cancels a request, and a lost connection does not.
    Session,
}

/// The head of the HTTP request that carried a message.
pub trait HttpHead: Send + Sync {
    /// Returns the method, such as `POST`.
    fn method(&self) -> &str;

    /// Returns the path and query of the request target.
    fn target(&self) -> &str;

    /// Returns a header by its name in any case: the first value, if it is UTF-8. Headers with
    /// credentials are hidden: `Authorization`, `Proxy-Authorization` and `Cookie`.
    fn header(&self, name: &str) -> Option<&str>;

    /// Returns the bytes that the head takes beside those that every request counts for.
    fn byte_count(&self) -> usize {
        0
    }

    /// Returns the values that layers in front of the endpoint put into the request.
    #[cfg(feature = "http")]
    fn extensions(&self) -> &http::Extensions;
}

/// The parts of HTTP requests that the handlers of a server read. Other parts are not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HttpNeeds {
    /// The method, the target and the headers.
    pub head: bool,
    /// The values that layers in front of the endpoint put into the request.
    pub extensions: bool,
}

/// The facts that a transport knows about a message beside its bytes.
#[derive(Clone, Default)]
pub struct TransportContext {
    /// The principal on whose behalf the message was sent, if a layer before the transport
    /// established one.
    pub principal: Option<Arc<Principal>>,
    /// A signal that is raised before the transport shuts down.
    pub shutdown: Option<Signal>,
    /// The network address of the client, if the transport knows it.
    pub address: Option<IpAddr>,
    /// The head of the HTTP request, with the parts that the server
    /// [reads](crate::transport::Dispatch::http_needs), if any.
    pub http: Option<Arc<dyn HttpHead>>,
}

impl TransportContext {
    /// Returns the name of the transport in traces and metrics: `pipe` or `tcp`.
    pub(crate) fn name(&self, binding: Binding) -> &'static str {
        // HTTP+SSE is a duplex transport, too: the head tells it from a pipe.
        match (binding, &self.http) {
            (Binding::Duplex, None) => "pipe",
            _ => "tcp",
        }
    }
}

debug_fields!(TransportContext {
    principal,
    shutdown
});
