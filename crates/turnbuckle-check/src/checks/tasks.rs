//! Tasks: the extension of the modern era, and the form of 2025-11-25.

mod extension;
mod legacy;

use crate::check::Check;

pub(super) const CHECKS: [&[Check]; 2] = [extension::CHECKS, legacy::CHECKS];
