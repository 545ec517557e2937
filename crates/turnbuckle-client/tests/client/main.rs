//! Tests of the client over its public interface, one module per topic.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod cache;
mod connect;
mod http_exchanges;
mod http_sse_fallback;
mod input_requests;
mod lists;
mod progress;
mod refused_input;
mod requests;
mod resource_subscriptions;
mod roots;
mod scripted_link;
mod scripted_server;
mod subscriptions;
mod timeouts;
mod tools;
mod unconfirmed_sends;
