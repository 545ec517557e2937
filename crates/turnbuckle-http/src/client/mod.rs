//! The client's end: links to one server over Streamable HTTP, or over the HTTP+SSE of the first
//! revision.
//!
//! A message is POSTed ([`exchange`](self::exchange)), its answer is JSON or a stream of events
//! ([`events`](self::events)). In the legacy era a stream that ends early is taken up again
//! ([`resume`](self::resume)), and a stream of its own carries what belongs to no request
//! ([`standalone`](self::standalone)). Below all that is any HTTP client
//! ([`HttpClient`](self::http::HttpClient)): bare sockets ([`wire`](self::wire)), unless something
//! is secured or stands in between ([`socket`](self::socket)).

mod answer;
mod connector;
mod core;
mod decode;
mod events;
mod exchange;
mod http;
mod link;
mod options;
mod pool;
mod remote;
mod resume;
mod socket;
mod sse;
mod standalone;
mod target;
mod wire;

pub use connector::HttpConnector;
pub use decode::decode_all;
pub use http::{AnswerBody, HttpClient, HttpFailure, RequestBody};
pub use options::HttpClientOptions;
pub use sse::SseConnector;
pub use target::InvalidTarget;

#[cfg(test)]
mod tests;
