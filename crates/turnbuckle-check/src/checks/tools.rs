//! Tools: their definitions, their calls and their results.
//!
//! Specification: server/tools.

mod advice;
mod calls;
mod definitions;
mod header_annotations;
mod results;

use crate::check::Check;

pub(super) const CHECKS: [&[Check]; 5] = [
    definitions::CHECKS,
    header_annotations::CHECKS,
    advice::CHECKS,
    calls::CHECKS,
    results::CHECKS,
];
