//! The verbs of the tool, as a process, against the demo server.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod config;
mod formats;
mod mistakes;
mod network;
mod support;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod untrusted;
mod verbs;
