//! The answers that a retried request carries.
//!
//! Specification: basic/patterns/mrtr (2026-07-28).

use crate::{Json, Map};

/// Answers under the keys of their questions: raw results, decoded by what was asked.
pub type InputResponses = Map<Json>;
