//! The client's end: connectors and links to a server, the session on a link, its requests, and
//! the server's requests.

pub(crate) mod link;
pub(crate) mod link_error;
pub(crate) mod message_observer;
pub(crate) mod negotiated_revision;
pub(crate) mod outbound_message;
pub(crate) mod session;
pub(crate) mod tasks;
pub(crate) mod timeouts;
pub(crate) mod transport_connector;
pub(crate) mod transport_link;
pub(crate) mod user_waits;
