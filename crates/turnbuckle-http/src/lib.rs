//! Streamable HTTP for the Model Context Protocol: one endpoint for both eras.
//!
//! [`StreamableHttp`] is a `tower::Service` that mounts into any hyper or axum server;
//! [`HttpServer`] is a server of our own. [`HttpSse`] is the older transport, HTTP+SSE, for clients
//! of the first revision. [`Config`] has their settings and bounds.
//!
//! With the feature `client` there is the other end, too: `HttpConnector` reaches a server over
//! Streamable HTTP, `SseConnector` over HTTP+SSE.
//!
//! This crate knows headers, statuses and streams. What a message means, and who may send it, is
//! not its business.
//!
//! Specification: basic/transports/streamable-http (2026-07-28), basic/transports (2025-11-25,
//! 2024-11-05).

mod body;
#[cfg(feature = "client")]
mod client;
mod config;
mod event;
mod head;
mod keep_alive;
mod origin;
mod parts;
mod principal;
mod reply;
mod secret;
mod serve;
mod service;
mod sse;
mod status;
mod streamable;

pub use body::ResponseBody;
#[cfg(feature = "client")]
pub use client::{
    AnswerBody, HttpClient, HttpClientOptions, HttpConnector, HttpFailure, InvalidTarget,
    RequestBody, SseConnector, decode_all,
};
pub use config::Config;
pub use serve::HttpServer;
pub use service::StreamableHttp;
pub use sse::HttpSse;
