//! The endpoint of Streamable HTTP, for both eras.

mod endpoint;
mod legacy;
mod modern;
mod pending_post;
mod post_sink;
mod service;
mod sessions;
mod status;

pub use service::StreamableHttp;
