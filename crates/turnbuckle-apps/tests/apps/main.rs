//! A server with pages, over its public API, in every revision that treats it differently.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod host;
mod pages;
mod tools;
