//! Streamable HTTP for the Model Context Protocol: one endpoint for both eras.
//!
//! [`StreamableHttp`] is a `tower::Service` that mounts into any hyper or axum server;
//! [`HttpServer`] is a server of our own. [`Config`] has their settings and bounds.
//!
//! This crate knows headers, statuses and streams. What a message means, and who may send it, is
//! not its business.
//!
//! Specification: basic/transports/streamable-http (2026-07-28), basic/transports (2025-11-25).

mod body;
mod config;
mod event;
mod head;
mod origin;
mod serve;
mod service;
mod status;
mod streamable;

pub use body::ResponseBody;
pub use config::Config;
pub use serve::HttpServer;
pub use service::StreamableHttp;
