//! The wire format of the Model Context Protocol, without I/O: JSON-RPC, the five revisions as
//! tables of facts, and the two eras.
//!
//! This crate has no socket, no clock and no handler. [`classify`](classify()) turns the bytes of
//! one frame into a message ([`rpc`]) with the era that it belongs to ([`era`]), and replies are
//! written for the revision of their reader ([`revision`]) with the JSON writer of [`json`].
//!
//! The crate is internal to turnbuckle: the other crates share its items and change them together,
//! in any release. What users need of it is exported by the crates above.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod classify;
#[cfg(feature = "definitions")]
#[cfg_attr(docsrs, doc(cfg(feature = "definitions")))]
pub mod definitions;
pub mod era;
pub mod json;
pub mod revision;
pub mod rpc;

pub use classify::{FrameKind, classify};
