//! Rules that all crates of the workspace follow alike. Internal: may change in any release.
//!
//! Each rule has a file. `cargo xtask tidy` refuses copies: no other code calls `is_control`, the
//! random source, `Arc::strong_count` or a string distance.

pub mod change_position;
mod debug_fields;
pub mod error_chain;
pub mod fair_permits;
pub mod glob;
pub mod host;
pub mod mismatch;
pub mod nearest;
pub mod panics;
pub mod quote;
pub mod random;
pub mod refusals;
pub mod revision_dates;
pub mod secrets;
mod setters;
pub mod terminal;
pub mod text;
pub mod units;

#[doc(inline)]
pub use crate::{debug_fields, setters};
