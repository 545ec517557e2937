//! The trait for the place where the messages and the response of a request go, and waiting for
//! space in it.

use turnbuckle_types::base::debug_fields;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use turnbuckle_types::{ErrorKind, RequestId};
use turnbuckle_wire::era::{Reply, write_reply};
use turnbuckle_wire::revision::Features;
use turnbuckle_wire::rpc;

use crate::shared::memory_budget::MemoryPermit;
use crate::shared::signal::Signal;

/// Carries messages and the response of one request back to its sender.
///
/// A connection, the queue of one HTTP exchange and a stream of a session are reply sinks. The sink
/// travels with the request, so nothing has to be looked up.
pub trait ReplySink: Send + Sync + 'static {
    /// Sends a message that belongs to a running request. A sink whose reader is gone accepts and
    /// drops every message.
    ///
    /// # Errors
    /// Returns the message while the reader is too far behind. Try again after
    /// [`wait_for_space`](Self::wait_for_space).
    fn send(&self, frame: Vec<u8>) -> Result<(), QueueFull>;

    /// Returns a future that resolves when another [`send`](Self::send) may succeed. Create and
    /// enable the future before the attempt that may fail: then no notification is missed.
    fn wait_for_space(&self) -> Notified<'_>;

    /// Ends a request with its response, or without one because the request was cancelled.
    ///
    /// Called exactly once for every request whose outcome was
    /// [`MessageOutcome::Pending`](crate::internal::MessageOutcome::Pending).
    fn finish(&self, response: Option<EncodedResponse>);

    /// Sends one of the responses to a batch, if this sink sends them separately. A call of
    /// [`finish`](Self::finish) without a response follows after the last one. A sink that answers a
    /// batch with a single array returns the response, which is the default.
    fn send_batch_response(&self, response: EncodedResponse) -> Option<EncodedResponse> {
        Some(response)
    }

    /// Returns whether a client is connected to receive messages now. A resumable stream may have
    /// no connection for a while.
    fn has_reader(&self) -> bool {
        true
    }

    /// Closes the current connection of a resumable SSE stream without ending the stream: the
    /// client reconnects for the rest. Does nothing where streams cannot be resumed.
    fn close_sse_stream(&self) {}
}

/// The sink of a request that no client waits for.
pub(crate) static NO_READER: NoReader = NoReader(Notify::const_new());

/// A sink that drops all messages.
pub(crate) struct NoReader(Notify);

impl ReplySink for NoReader {
    fn send(&self, _: Vec<u8>) -> Result<(), QueueFull> {
        Ok(())
    }

    fn wait_for_space(&self) -> Notified<'_> {
        self.0.notified()
    }

    fn finish(&self, _: Option<EncodedResponse>) {}

    fn has_reader(&self) -> bool {
        false
    }
}

/// A message that a reply sink had no space for.
pub struct QueueFull(pub Vec<u8>);

debug_fields!(QueueFull { bytes = |it| it.0.len() });

/// An encoded JSON-RPC response to a request.
pub struct EncodedResponse {
    /// The frame, or the first part of it if `tail` is not empty.
    pub frame: Vec<u8>,
    /// The second part of the frame, shared with other responses. Most responses have none.
    pub tail: Bytes,
    /// The kind of the error, if the response is one. A transport may map it to a status.
    pub failure: Option<ErrorKind>,
    /// The memory of the response, if it is counted. It goes along with the bytes.
    pub memory: MemoryPermit,
}

debug_fields!(EncodedResponse { bytes = |it| it.byte_count(), failure });

impl EncodedResponse {
    /// Encodes the response to a request for a peer of the revision with these `features`. A result
    /// of the modern era carries `server_info`.
    pub(crate) fn encode(
        id: &RequestId,
        reply: &Reply,
        features: &'static Features,
        server_info: Option<&[u8]>,
    ) -> Self {
        let mut frame = Vec::with_capacity(512);
        let tail = match reply.encoded_bytes() {
            Some(encoded) => {
                rpc::write_result_head(&mut frame, id);
                encoded.clone()
            }
            None => {
                write_reply(&mut frame, id, reply, features, server_info);
                Bytes::new()
            }
        };
        let failure = match reply {
            Reply::Error(error) => Some(error.kind().clone()),
            _ => None,
        };
        Self {
            frame,
            tail,
            failure,
            memory: MemoryPermit::default(),
        }
    }

    /// Returns the number of bytes of the frame.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        self.frame.len() + self.tail.len()
    }

    /// Returns the whole frame in one buffer. Its memory is no longer counted.
    #[must_use]
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.frame.extend_from_slice(&self.tail);
        self.frame
    }
}

/// Sends a frame and waits for space if there is none, unless `signal` is cancelled. Returns
/// whether the frame was sent.
pub(crate) async fn send_when_space(sink: &dyn ReplySink, signal: &Signal, frame: Vec<u8>) -> bool {
    let mut unsent = Some(frame);
    let attempt = || {
        let sent = unsent.take().map_or(Ok(()), |frame| sink.send(frame));
        unsent = sent.err().map(|QueueFull(frame)| frame);
        unsent.is_none()
    };
    retry_until_space(sink, signal, attempt).await
}

/// Repeats `attempt` whenever the sink may have space again, until it succeeds or `signal` is
/// cancelled. Returns whether it succeeded.
pub(crate) async fn retry_until_space(
    sink: &dyn ReplySink,
    signal: &Signal,
    mut attempt: impl FnMut() -> bool,
) -> bool {
    loop {
        if signal.is_cancelled() {
            return false;
        }
        let mut space = std::pin::pin!(sink.wait_for_space());
        space.as_mut().enable();
        if attempt() {
            return true;
        }
        tokio::select! {
            () = space => {}
            () = signal.cancelled() => return false,
        }
    }
}
