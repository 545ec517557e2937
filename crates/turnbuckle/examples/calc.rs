//! A server with one tool.
//!
//! `calc` serves the client that started it; `calc --http 127.0.0.1:8080` serves a URL.

use turnbuckle::prelude::*;

/// Add two numbers.
#[tool]
fn add(
    /** first */
    a: i64,
    /** second */
    b: i64,
) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result {
    Server::new("calc", "1.0.0").tool(add).run().await
}
