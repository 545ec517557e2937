//! Skills of scripted servers, as a client lists, loads and verifies them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod approvals;
mod caching;
mod directories;
mod hostile;
mod limits;
mod lists;
mod loading;
mod scripted;
mod tampering;
