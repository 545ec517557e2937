//! Prints the time that operations of a store in PostgreSQL take.
//! `cargo run --release -p turnbuckle-postgres --example postgres_store_time ADDRESS [CONNECTIONS]`

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_postgres::{PostgresStore, PostgresStoreOptions};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("give the address of a database")?;
    let mut options = PostgresStoreOptions::new().statement_timeout(Duration::from_secs(10));
    if let Some(connections) = arguments.next() {
        options = options.max_connections(connections.parse()?);
    }
    let store = PostgresStore::connect_with(&address, options).await?;
    turnbuckle_engines::print_times(Arc::new(store)).await?;
    Ok(())
}
