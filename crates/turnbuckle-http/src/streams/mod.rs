//! Event streams: those of Streamable HTTP with their replay logs, and the connections of HTTP+SSE.
//!
//! A stream knows nothing of requests and replies: an endpoint opens it.

mod event_stream;
mod keep_alive;
mod replay_log;
mod session_stream;
pub(crate) mod sse_connections;
#[cfg(feature = "store")]
mod stored;

pub(crate) use event_stream::{EndSessionOnDrop, EventStream};
pub(crate) use replay_log::ReplayBudget;
pub(crate) use session_stream::{FirstOutput, ReaderReservation, SessionStream, StreamReader};
#[cfg(feature = "store")]
pub(crate) use session_stream::{MAX_WAITING, RemoteReader, StandaloneMessage};
pub(crate) use sse_connections::SseStream;
#[cfg(feature = "store")]
pub(crate) use stored::{Courier, OpenRequests, StreamCopies};
