//! A server with one tool, which adds two numbers. It shows the shortest complete server.
//!
//! `cargo run -p turnbuckle --example calc` serves the client that started it on standard input and output. With
//! `-- --http 127.0.0.1:8080` it serves <http://127.0.0.1:8080/mcp>.

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
async fn main() -> turnbuckle::Result {
    Server::new("calc", "1.0.0").tools(tools![add]).run().await
}
