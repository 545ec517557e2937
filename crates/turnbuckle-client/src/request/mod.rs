//! Requests from the client to the server: how one is built, sent and sent again.

pub(crate) mod builder;
pub(crate) mod deadline;
mod execute;
pub(crate) mod list;
pub(crate) mod method;
pub(crate) mod progress;
