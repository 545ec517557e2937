#![cfg_attr(docsrs, feature(doc_cfg))]
//! Checks servers and clients of the Model Context Protocol against its specification.
//!
//! The checks use neither the client nor the server of turnbuckle: only the types, the tables of the
//! revisions and the official schemas.

pub mod baseline;
mod case;
mod file_error;
pub mod interface;
pub mod lock;
pub mod oracle;
pub mod report;
mod requirement;
pub mod script;

pub use case::{Bind, Case};
pub use file_error::FileError;
pub use requirement::{Citation, Requirement};
