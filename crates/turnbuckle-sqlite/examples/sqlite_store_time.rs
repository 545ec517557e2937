//! Prints the time that operations of a store in a file take.
//! `cargo run --release -p turnbuckle-sqlite --example sqlite_store_time [FILE]`

use std::error::Error;
use std::sync::Arc;

use turnbuckle_sqlite::SqliteStore;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = std::env::args_os().nth(1).map(Into::into);
    let store = SqliteStore::open(path.unwrap_or_else(|| directory.path().join("state.db")))?;
    turnbuckle_engines::print_times(Arc::new(store)).await?;
    Ok(())
}
