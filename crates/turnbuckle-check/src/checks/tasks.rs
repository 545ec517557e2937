//! Tasks: the extension of the modern era, and the form of 2025-11-25.

pub(super) mod extension;
mod handling;
mod ids;
mod inputs;
pub(super) mod legacy;

use crate::check::Check;

pub(super) const CHECKS: [&[Check]; 5] = [
    extension::CHECKS,
    inputs::CHECKS,
    legacy::CHECKS,
    handling::CHECKS,
    ids::CHECKS,
];
