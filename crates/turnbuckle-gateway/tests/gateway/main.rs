//! Tests of the gateway in memory: its rules, its audit log and its metrics.
#![allow(clippy::unwrap_used, reason = "tests")]

mod audit;
#[cfg(unix)]
mod large;
mod lazy;
mod own_lists;
mod policy;
mod support;
mod upstreams;
