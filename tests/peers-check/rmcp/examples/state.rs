//! State that every call shares: a field of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rmcp::{ServiceExt, tool, tool_router, transport::stdio};

#[derive(Clone, Default)]
struct Counter {
    count: Arc<AtomicI64>,
}

#[tool_router(server_handler)]
impl Counter {
    /// Count one more.
    #[tool]
    fn increment(&self) -> String {
        (self.count.fetch_add(1, Ordering::Relaxed) + 1).to_string()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Counter::default().serve(stdio()).await?.waiting().await?;
    Ok(())
}
