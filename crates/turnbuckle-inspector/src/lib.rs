#![cfg_attr(docsrs, feature(doc_cfg))]
//! The engine of the Inspector: sessions with servers, every message as it was on the wire, forms made
//! of schemas, and the questions of servers.
//!
//! The engine has no HTTP server, no terminal and no arguments of a command line: a command gives it
//! servers to open ([`OpenServer`]), calls an [`Inspector`], and passes the types of [`api`] on to a page.

pub mod api;
mod call;
mod change;
mod check_run;
mod copy;
mod inbox;
mod inspector;
mod items;
mod outline;
mod place;
mod session;
mod target;
mod timeline;
pub mod values;

pub use change::{ChangeBatches, Changes};
pub use inspector::{Download, Inspector, InspectorError, InspectorLimits};
pub use items::ItemLimits;
pub use target::{
    BoxFuture, ClientSettings, ConnectionObserver, HttpExchange, OpenError, OpenServer,
    OpenedServer, ServerWords,
};
pub use timeline::{Filter, Timeline, TimelineLimits};
