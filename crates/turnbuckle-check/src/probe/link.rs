//! The client's end of a transport.

use super::ProbeError;
use crate::target::BoxFuture;

/// Something that arrived.
#[derive(Debug)]
pub enum Arrival {
    /// One frame: a message or a batch.
    Frame(Vec<u8>),
    /// An error without an id, with an HTTP status that refuses what was posted. It answers nothing.
    Refusal(Vec<u8>),
    /// The exchange of a request ended without a message.
    Failed {
        /// Text of the request's id; `None` for what was no request.
        id: Option<String>,
        /// Reason.
        error: ProbeError,
    },
}

/// The client's end of a transport: frames out and in.
pub trait Link: Send {
    /// Sends a frame. Frames arrive in the order in which they are sent.
    fn send<'a>(&'a mut self, frame: &'a [u8]) -> BoxFuture<'a, Result<(), ProbeError>>;

    /// Returns what arrives next; `None` at the end. Cancel safe: dropping the future loses nothing.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Arrival>, ProbeError>>;

    /// Gives a request up by what the transport has for that; `false` where that is a message.
    fn give_up(&mut self, _id: &str) -> bool {
        false
    }

    /// Returns whether frames are lines of a stream, to which a process may print something else.
    fn has_lines(&self) -> bool {
        false
    }

    /// Returns the error for a connection that was closed instead of this: it says how the program at the other
    /// end ended, where there is one.
    fn closed(&mut self, what: String) -> BoxFuture<'_, ProbeError> {
        Box::pin(std::future::ready(ProbeError::Closed { what }))
    }

    /// Says that no more will be sent. Does nothing where a transport has no way to say so.
    fn close(&mut self) {}
}
