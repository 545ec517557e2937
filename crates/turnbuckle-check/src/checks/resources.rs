//! Resources: their definitions, their contents and subscriptions.
//!
//! Specification: server/resources.

mod contents;
mod definitions;
mod subscriptions;
mod unknown;

use crate::check::Check;

pub(super) const CHECKS: [&[Check]; 4] = [
    definitions::CHECKS,
    contents::CHECKS,
    unknown::CHECKS,
    subscriptions::CHECKS,
];
