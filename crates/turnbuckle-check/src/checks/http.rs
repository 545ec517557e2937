//! Streamable HTTP: statuses, headers, sessions and streams.
//!
//! Specification: basic/transports, "Streamable HTTP".

mod headers;
mod requests;
mod session;
mod sessions;
mod streams;

use crate::check::Check;

pub(super) use session::opening;

pub(super) const CHECKS: [&[Check]; 4] = [
    requests::CHECKS,
    sessions::CHECKS,
    streams::CHECKS,
    headers::CHECKS,
];
