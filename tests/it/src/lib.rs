//! Shared parts of the integration tests.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test's library fails as a test does"
)]

pub mod coupled;
pub mod faults;
pub mod faulty_store;
pub mod fuzz;
pub mod harness;
pub mod peer;
pub mod web;
pub mod wires;
