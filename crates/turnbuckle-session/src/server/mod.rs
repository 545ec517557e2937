//! The server's end: sessions, exchanges without a session, and what a handler reaches of them.

pub(crate) mod admission;
pub(crate) mod batch;
pub(crate) mod change;
pub(crate) mod context;
pub(crate) mod duplex;
pub(crate) mod endpoint;
pub(crate) mod frame_queue;
pub(crate) mod handshake;
pub(crate) mod legacy_state;
pub(crate) mod limits;
pub(crate) mod peer;
pub(crate) mod progress;
pub(crate) mod session;
pub(crate) mod underway;
