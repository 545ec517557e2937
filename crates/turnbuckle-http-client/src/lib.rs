#![cfg_attr(docsrs, feature(doc_cfg))]
//! The HTTP/1.1 client below the transport, the authorization and the exporter of turnbuckle.
//! Internal: it may change in any release.
//!
//! A [`Client`] takes an idle connection from its pool or opens one: over TCP or a Unix socket,
//! directly or through a proxy of the environment, and with TLS for `https:`. It follows no redirect,
//! keeps no cookie and decodes no body.

pub mod address;
mod client;
mod connection;
mod connection_pool;
mod connector;
mod error;
mod lookup;
mod options;
mod proxy;
#[cfg(test)]
mod tests;
mod tls;

pub use client::{Client, ResponseBody};
pub use error::ClientError;
pub use lookup::{Lookup, LookupFuture, system_lookup};
pub use options::ClientOptions;
pub use tls::{InvalidPem, TlsSettings};
