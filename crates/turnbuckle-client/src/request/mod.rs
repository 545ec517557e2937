//! Requests from the client to the server: how one is built, passes layers, is sent and sent again,
//! and the state and the connection that the requests of one client share.

pub(crate) mod builder;
pub(crate) mod deadline;
pub(crate) mod erased;
mod execute;
pub(crate) mod extension;
pub(crate) mod from_fn;
pub(crate) mod inner;
pub(crate) mod list;
pub(crate) mod options;
pub(crate) mod progress;
mod raw;
pub(crate) mod reconnector;
pub(crate) mod service;
pub(crate) mod task;
