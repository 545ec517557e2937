//! The store against a PostgreSQL that the tests start.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod contract;
mod engine;
mod faults;
mod roles;
mod rows;
#[cfg(feature = "tls")]
mod secure;
mod topics;
