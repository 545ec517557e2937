//! Tools: their definitions, their calls and their results.
//!
//! Specification: server/tools.

mod calls;
mod definitions;

use crate::check::Check;

pub(super) const CHECKS: [&[Check]; 2] = [definitions::CHECKS, calls::CHECKS];
