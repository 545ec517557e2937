//! Prints the time that operations of a store in Redis take.
//! `cargo run --release -p turnbuckle-redis --example redis_store_time URL`

use std::error::Error;
use std::sync::Arc;

use turnbuckle_redis::RedisStore;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("give the URL of a Redis")?;
    let store = RedisStore::connect(&url).await?;
    turnbuckle_engines::print_times(Arc::new(store)).await?;
    Ok(())
}
