//! Tests of the client over its public API, one module per room.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod answering;
mod by_hand;
mod cache;
mod connect;
mod core;
mod exchanges;
mod following;
mod in_time;
mod lists;
mod older;
mod posted;
mod progress;
mod refusing;
mod roots;
mod subscriptions;
mod tools;
