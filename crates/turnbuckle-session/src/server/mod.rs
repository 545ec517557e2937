//! The server's end of a connection.
//!
//! Transports call `endpoint` (HTTP) or `duplex` (pipes, HTTP+SSE) with frames. A frame goes to a
//! `session`, which keeps the state of a legacy client, or stands for itself. `admission` decides
//! whether a request may run, `dispatch` is the server that runs it with a `context`, `handler_task`
//! holds a handler that is not ready at once, and `response_stream` carries its messages.

pub(crate) mod admission;
pub(crate) mod change;
pub(crate) mod change_feed;
pub(crate) mod context;
pub(crate) mod detached_handler;
pub(crate) mod dispatch;
pub(crate) mod dispatch_handle;
pub(crate) mod duplex;
pub(crate) mod endpoint;
pub(crate) mod foreign_messages;
pub(crate) mod handler_task;
pub(crate) mod handshake;
pub(crate) mod inbound_frame;
pub(crate) mod legacy_state;
pub(crate) mod peer;
pub(crate) mod response_stream;
pub(crate) mod roots_cache;
pub(crate) mod session;
pub(crate) mod session_record;
mod shared_state;
pub(crate) mod tasks;
