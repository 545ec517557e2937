//! The endpoint of Streamable HTTP, for both eras.

mod endpoint;
mod legacy;
mod modern;
mod open;
mod pending_post;
mod post_sink;
mod sealed;
mod service;
mod session_mode;
mod sessions;
mod status;
#[cfg(feature = "store")]
mod stored;

pub use service::StreamableHttp;
pub(crate) use session_mode::check_sessions;
