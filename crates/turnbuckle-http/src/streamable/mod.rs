//! Streamable HTTP, the server's side: one endpoint for both eras.

mod alarm;
mod endpoint;
mod events;
mod legacy;
mod modern;
mod post;
mod replay;
mod sessions;
mod stream;
mod waits;

pub(crate) use endpoint::Endpoint;
pub(crate) use events::Events;
