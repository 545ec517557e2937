//! Many servers of the Model Context Protocol behind one endpoint, by a file.
//!
//! A [`GatewayFile`] names the upstream servers, and says which of their items clients see and call, under
//! which names, within which limits. [`Gateway`] connects them and serves them as one server.
//!
//! ```
//! use turnbuckle_gateway::GatewayFile;
//!
//! let error = GatewayFile::parse_toml("[upstream.files]\ncomand = [\"files\"]").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "line 2: unknown key \"comand\": did you mean \"command\"?"
//! );
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod audit;
mod caller;
mod error;
mod event;
pub mod file;
mod gateway;
mod headers_command;
mod lazy;
mod metrics;
mod offers;
mod policy;
mod routes;
mod upstreams;

pub use error::GatewayError;
pub use file::GatewayFile;
pub use gateway::{Gateway, GatewayBuilder};
pub use offers::{OfferedItem, UpstreamOffer};

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
