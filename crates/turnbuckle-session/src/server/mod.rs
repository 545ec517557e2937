//! The server's end: sessions, exchanges without a session, and what a handler reaches of them.

pub(crate) mod batch;
pub(crate) mod change;
pub(crate) mod context;
pub(crate) mod exchange;
pub(crate) mod handshake;
pub(crate) mod legacy;
pub(crate) mod limits;
pub(crate) mod outbox;
pub(crate) mod peer;
pub(crate) mod pipe;
pub(crate) mod reports;
pub(crate) mod request;
pub(crate) mod session;
pub(crate) mod underway;
