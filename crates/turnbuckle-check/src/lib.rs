#![cfg_attr(docsrs, feature(doc_cfg))]
//! Checks servers and clients of the Model Context Protocol against its specification.
//!
//! The checks use neither the client nor the server of turnbuckle: only the types, the tables of the
//! revisions and the official schemas.

mod case;
pub mod oracle;
mod requirement;

pub use case::{Bind, Case};
pub use requirement::{Citation, Requirement};
