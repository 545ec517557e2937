//! A client for tests: plain JSON in and out, over every revision and every binding.
//!
//! A test is written once and run over a table of cases:
//!
//! ```no_run
//! # use serde_json::json;
//! # use turnbuckle_it::harness::{Case, Client};
//! # async fn test(server: turnbuckle_server::Server) {
//! for case in Case::all() {
//!     let mut client = Client::connect(case, &server).await;
//!     let answer = client.request("tools/list", json!({})).await;
//!     assert!(answer["result"]["tools"].is_array());
//! }
//! # }
//! ```
//!
//! The client trusts nothing that it is told: every message of the server is judged by the official
//! schema of the revision that it belongs to, and kept. No wait is without an end: tests run on the
//! paused clock (`#[tokio::test(start_paused = true)]`), and when what they wait for does not come,
//! or they fail otherwise, everything that was said is printed.

mod client;
mod link;
mod options;

pub use client::Client;
pub use options::ClientOptions;
pub use turnbuckle_check::probe::modern_meta;
pub use turnbuckle_check::{Bind, Case};
