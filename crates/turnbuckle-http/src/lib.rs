//! The HTTP transports of the Model Context Protocol.
//!
//! [`StreamableHttp`] is the endpoint of a server as a `tower::Service`, for any hyper or axum
//! server. It speaks every revision. [`HttpServer`] serves it on a TCP or Unix socket. [`HttpSse`] is the
//! HTTP+SSE transport, for clients of the first revision. [`HttpServerOptions`] has the settings and
//! bounds of all three.
//!
//! With the feature `client`, `HttpConnector` connects a client to a server over Streamable HTTP,
//! and `SseConnector` over HTTP+SSE.
//!
//! This crate handles headers, statuses and streams. It does not know what a message means.
//!
//! Specification: basic/transports/streamable-http (2026-07-28), basic/transports (2025-11-25,
//! 2024-11-05).
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod client;
mod event;
mod mounted;
mod options;
mod reply;
mod request;
mod server;
mod shares;
mod sse;
mod streamable;
mod streams;
#[cfg(feature = "tls")]
mod tls_identity;

#[cfg(feature = "client")]
pub use client::{
    ClientRequestBody, ClientResponseBody, ConnectorError, HttpClient, HttpClientError,
    HttpClientOptions, HttpConnector, SseConnector, decode_events,
};
pub use mounted::shutdown_after;
pub use options::{
    HttpLimits, HttpServerOptions, HttpShares, HttpTimeouts, ReplayLimits, Sessions,
};
pub use reply::ResponseBody;
pub use server::{HttpRoutes, HttpServer, ListenAddress, RequestBody, RouteService, RoutesFuture};
pub use sse::HttpSse;
pub use streamable::StreamableHttp;
#[cfg(feature = "tls")]
#[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
pub use tls_identity::TlsIdentity;
pub use turnbuckle_types::ClientAddress;

/// The example of the README, as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
