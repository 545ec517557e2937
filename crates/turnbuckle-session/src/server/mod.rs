//! The server's end: sessions, requests without a session, and the context of handlers.

pub(crate) mod admission;
pub(crate) mod change;
pub(crate) mod context;
pub(crate) mod dispatch;
pub(crate) mod dispatch_handle;
pub(crate) mod duplex;
pub(crate) mod endpoint;
pub(crate) mod handler_task;
pub(crate) mod handshake;
pub(crate) mod inbound_frame;
pub(crate) mod legacy_state;
pub(crate) mod peer;
pub(crate) mod response_stream;
pub(crate) mod roots_cache;
pub(crate) mod session;
pub(crate) mod tasks;
