//! The HTTP+SSE transport of the first revision, the server's side.
//!
//! A connection is one stream of events, opened by a GET, and the messages that are posted to the
//! URI in its first event. Both are the two directions of a pipe like any other: the stream's
//! connection polls it, and whoever drops the stream ends it.
//!
//! Specification: basic/transports, "HTTP with SSE" (2024-11-05).

mod connections;
mod endpoint;
mod lanes;
mod service;
mod stream;

pub(crate) use stream::Stream;

pub use service::HttpSse;
