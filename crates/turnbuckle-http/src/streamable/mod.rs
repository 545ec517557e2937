//! Streamable HTTP, the server's side: one endpoint for both eras.

mod endpoint;
mod events;
mod legacy;
mod modern;
mod replay;
mod sessions;
mod stream;

pub(crate) use endpoint::Endpoint;
pub(crate) use events::Events;
