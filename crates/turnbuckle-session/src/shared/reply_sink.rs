//! Where the messages of one request go: its own stream, or the connection.

use std::fmt;

use bytes::Bytes;
use tokio::sync::futures::Notified;
use turnbuckle_types::ErrorKind;

/// The way back of one request. It travels with the request, so nothing has to be looked up.
pub trait ReplySink: Send + Sync + 'static {
    /// Takes a message about a request under way.
    ///
    /// # Errors
    /// Gives the message back while the reader is too far behind; [`space`](Self::space) tells
    /// when to try again. A route whose reader is gone takes everything and drops it.
    fn send(&self, frame: Vec<u8>) -> Result<(), QueueFull>;

    /// Resolves when [`send`](Self::send) is worth another try. Made before the try that fails, it
    /// misses nothing.
    fn wait_for_space(&self) -> Notified<'_>;

    /// The request has ended: with this answer, or with none because it was cancelled. Said once
    /// for each that its session left [`PendingRequest`](crate::MessageOutcome::PendingRequest) or
    /// [`Held`](crate::MessageOutcome::Held) and that was not answered in place.
    fn finish(&self, answer: Option<EncodedResponse>);

    /// Takes one of the answers to a batch, if they need not travel together; [`done`](Self::done)
    /// without an answer follows after the last.
    ///
    /// # Errors
    /// Gives the answer back where a batch is answered by one frame, as it is everywhere unless a
    /// route says otherwise.
    fn send_batch_response(&self, answer: EncodedResponse) -> Result<(), EncodedResponse> {
        Err(answer)
    }

    /// Whether somebody is there to hear what is sent now. A stream may have no connection for a
    /// while.
    fn has_reader(&self) -> bool {
        true
    }

    /// Has whoever waits for the answer look whether the request was given up.
    fn stir(&self) {}

    /// Closes the current connection of a stream that can be resumed, and lets the client come
    /// back for the rest. Nothing happens where streams cannot be resumed.
    fn close_sse_stream(&self) {}
}

/// A message that a route had no room for.
pub struct QueueFull(pub Vec<u8>);

impl fmt::Debug for QueueFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Full")
            .field("bytes", &self.0.len())
            .finish_non_exhaustive()
    }
}

/// The answer to a request, encoded.
pub struct EncodedResponse {
    /// The response, as a frame; its beginning, where something follows.
    pub frame: Vec<u8>,
    /// What follows, shared with other answers. Empty for most.
    pub tail: Bytes,
    /// The kind of its error, if it is one: a transport may have a status for it.
    pub failure: Option<ErrorKind>,
}

impl fmt::Debug for EncodedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("bytes", &(self.frame.len() + self.tail.len()))
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

impl EncodedResponse {
    /// The response in one piece.
    #[must_use]
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.frame.extend_from_slice(&self.tail);
        self.frame
    }
}
