//! Streamable HTTP: statuses, headers, sessions and streams.
//!
//! Specification: basic/transports, "Streamable HTTP".

mod encoding;
mod headers;
mod requests;
pub(super) mod session;
mod sessions;
mod streams;
mod unrelated;

use crate::check::Check;

pub(super) use session::{Session, opening};

pub(super) const CHECKS: [&[Check]; 6] = [
    requests::CHECKS,
    sessions::CHECKS,
    streams::CHECKS,
    headers::CHECKS,
    encoding::CHECKS,
    unrelated::CHECKS,
];
