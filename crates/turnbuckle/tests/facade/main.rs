//! The facade: servers as processes, and the testing kit.

// A test fails by panicking, and so do the functions that it calls.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod asked;
mod audit;
#[cfg(feature = "check")]
mod checker;
mod client_layers;
mod errors;
mod handlers;
mod host_logins;
mod process;
mod prometheus;
mod proxy;
mod revisions;
mod surface;
