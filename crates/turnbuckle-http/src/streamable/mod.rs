//! Streamable HTTP, the server's side: one endpoint for both eras.

mod endpoint;
mod event_stream;
mod legacy;
mod modern;
mod pending_post;
mod post_sink;
mod replay_log;
mod service;
mod sessions;
mod status;
mod stream;

pub(crate) use endpoint::StreamableEndpoint;
pub(crate) use event_stream::EventStream;
pub use service::StreamableHttp;
