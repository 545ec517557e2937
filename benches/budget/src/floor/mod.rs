//! The floors: what the least possible server costs, which parses the JSON-RPC with typed
//! serde_json, answers, and checks nothing.

mod answer;
pub(crate) mod axum;
pub(crate) mod decode;
// As `cargo xtask bench` has it.
#[path = "../../../floors/src/echo.rs"]
mod echo;
pub(crate) mod http;
pub(crate) mod stdio;
