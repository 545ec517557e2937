//! Streamable HTTP, the server's side: one endpoint for both eras.

mod endpoint;
mod event_stream;
mod legacy;
mod modern;
mod pending_post;
mod post_sink;
mod replay_log;
mod sessions;
mod stream;

pub(crate) use endpoint::StreamableEndpoint;
pub(crate) use event_stream::EventStream;
