//! The endpoints of the HTTP+SSE transport of the first revision.
//!
//! A GET opens a connection. Its response is the stream of what the server sends; what the client
//! sends is posted to the URI in the stream's first event. Together they are one duplex transport,
//! which is served while the stream is polled and ends when the stream is dropped.
//!
//! Specification: basic/transports, "HTTP with SSE" (2024-11-05).

#[cfg(feature = "store")]
mod elsewhere;
mod endpoint;
mod service;

pub use service::HttpSse;
