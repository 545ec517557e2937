#![cfg_attr(docsrs, feature(doc_cfg))]
//! Checks servers and clients of the Model Context Protocol against its specification.
//!
//! The checks use neither the client nor the server of turnbuckle: only the types, the tables of the
//! revisions and the official schemas.

mod case;
mod check;
mod checker;
mod checks;
mod context;
mod files;
mod need;
pub mod oracle;
pub mod probe;
pub mod report;
mod requirement;
pub mod script;
mod survey;
mod target;

pub use case::{Bind, Case};
pub use check::{Check, Need};
pub use checker::{CheckError, Checker, ClientChecker, Progress, Selection, relay};
pub use files::{FileError, baseline, lock};
pub use http::Uri;
pub use requirement::{Citation, Requirement};
pub use target::{
    Body, BoxFuture, Command, Endpoint, Exchange, OpenPipe, OtherToken, Pipe, Process, Target,
    exchange,
};
