//! The client's end: links to one server over Streamable HTTP, or over the HTTP+SSE of the first
//! revision.
//!
//! [`HttpConnector`] opens a [`StreamableLink`](streamable_link::StreamableLink). A message is POSTed
//! ([`exchange`]); its response is JSON or a stream of events ([`event_reader`]). In the legacy era a
//! stream that ends early is resumed ([`reconnect`] says when), and a stream of its own carries what
//! belongs to no request ([`standalone_stream`]). [`RemoteServer`](remote_server::RemoteServer) adds
//! the headers of every request and follows redirects. Below it is an [`HttpClient`]: the user's, or
//! that of `turnbuckle-http-client` ([`default_client`]).

mod connector;
mod default_client;
mod error;
mod event_decoder;
mod event_reader;
mod exchange;
mod http_client;
mod link_state;
mod options;
mod reconnect;
mod remote_server;
mod request_body;
mod response;
mod response_body;
mod sse_connector;
mod standalone_stream;
mod streamable_link;
mod target;

pub use connector::HttpConnector;
pub use error::HttpClientError;
pub use event_decoder::decode_events;
pub use http_client::HttpClient;
pub use options::HttpClientOptions;
pub use request_body::ClientRequestBody;
pub use response_body::ClientResponseBody;
pub use sse_connector::SseConnector;
pub use target::ConnectorError;

#[cfg(test)]
mod tests;
