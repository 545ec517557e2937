//! A server with one tool, as the README writes one.

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
