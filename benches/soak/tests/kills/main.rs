//! Processes that are killed or asked to end, at points that a seed chooses: whoever is left is told
//! by name, nobody hangs, no process stays, and no message is cut in two.
//!
//! A few points are tried; `TURNBUCKLE_KILLS` says how many of each kind instead, and
//! `TURNBUCKLE_SEED` from which number on.
#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod clients;
mod http;
mod load;
mod point;
mod process;
mod stdio;
