#![cfg_attr(docsrs, feature(doc_cfg))]
//! Authorization for the Model Context Protocol, as tower layers over HTTP requests.
//!
//! - [`OAuth`] (feature `client`) logs a client in and keeps it logged in: discovery, registration,
//!   login, refresh, step-up.
//! - [`ResourceServer`] (feature `server`) checks the token of each request to a server and puts the
//!   [`Principal`](turnbuckle_types::Principal) into the request's extensions.
//! - [`DocumentClient`] and [`dpop`] are for authorization servers, which need the same checks.
//!
//! The crate `turnbuckle-auth-testing` has an authorization server for tests.
//!
//! Transports never see a token: a server's transport carries the `Principal`, a client's transport
//! sends its requests through the layer.
//!
//! Specification: basic/authorization (2026-07-28), with the differences of 2025-03-26, 2025-06-18
//! and 2025-11-25.
// Each side uses a part of the shared modules. What no side uses is found with all features.
#![cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(dead_code, unused_imports)
)]

mod challenge;
mod clock;
mod document_client;
pub mod dpop;
mod error;
mod jws;
mod metadata;
mod outbound;
mod pkce;
mod secret;
#[cfg(test)]
mod test_http;
#[cfg(test)]
mod test_log;
mod transcript;

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
pub mod server;

pub use challenge::Challenge;
#[cfg(feature = "client")]
pub use client::OAuth;
pub use document_client::{Document, DocumentClient};
pub use error::{AuthError, AuthErrorKind};
pub use metadata::{AuthorizationServerMetadata, ProtectedResourceMetadata};
pub use secret::Secret;
#[cfg(feature = "server")]
pub use server::ResourceServer;

/// The example of the README, as a doc test.
#[cfg(all(doctest, feature = "client", feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;
