//! The session of a client: one connection to one server, with its requests in both directions.
//!
//! [`ClientSession`](client_session::ClientSession) holds the state. `in_flight` sends requests,
//! `inbox` receives messages, `server_requests` answers requests of the server, `request_tag`
//! finds the request that a message is about, `timeout_timer` ends requests without a response in time.

pub(crate) mod client_session;
pub(crate) mod handler;
pub(crate) mod in_flight;
mod inbox;
mod keep_alive;
pub(crate) mod limits;
mod open;
mod pending_response;
pub(crate) mod request;
pub(crate) mod request_tag;
pub(crate) mod response;
mod server_requests;
mod timeout_timer;

#[cfg(test)]
mod tests;
