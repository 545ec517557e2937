//! The connections of HTTP+SSE: the table of the open ones, the duplex transport of each, and its
//! stream, which serves the connection while it is polled and ends it when it is dropped.

mod stream;
mod table;
mod transport;

pub(crate) use stream::SseStream;
pub(crate) use table::{ConnectionTable, OpenConnectionError};
pub(crate) use transport::{ConnectionClosed, EndOfInput, PushError, open_transport};
