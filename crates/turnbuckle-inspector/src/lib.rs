#![cfg_attr(docsrs, feature(doc_cfg))]
//! The engine of the Inspector: sessions with servers, every message as it was on the wire, forms made
//! of schemas, and the questions of servers.
//!
//! The engine has no HTTP server, no terminal and no arguments of a command line: a command gives it
//! servers to open, and passes the types of [`api`] on to a page.

pub mod api;
#[allow(dead_code, reason = "sessions, which are built on it, come next")]
mod change;
mod outline;
#[allow(dead_code, reason = "sessions, which are built on it, come next")]
mod timeline;
pub mod values;

pub use change::{ChangeBatches, Changes};
pub use timeline::{Filter, Timeline, TimelineLimits};
