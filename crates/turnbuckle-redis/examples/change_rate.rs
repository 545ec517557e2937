//! Prints how fast ten instances of a server tell each other of changes.
//! `cargo run --release -p turnbuckle-redis --example change_rate [URL]`: in a Redis, or in memory.

use std::error::Error;
use std::sync::Arc;

use turnbuckle_redis::RedisStore;
use turnbuckle_store::{GuardedStore, MemoryStore, Store};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1);
    let memory = MemoryStore::new();
    let mut stores: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..10 {
        stores.push(match &url {
            Some(url) => Arc::new(GuardedStore::new(RedisStore::connect(url).await?)),
            None => Arc::new(GuardedStore::new(memory.clone())),
        });
    }
    turnbuckle_engines::print_change_rate(stores).await;
    Ok(())
}
