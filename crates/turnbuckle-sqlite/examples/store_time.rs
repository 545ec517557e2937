//! Prints the time that operations of a store in a file take, in microseconds: the median and the 99th
//! percentile. `cargo run --release -p turnbuckle-sqlite --example store_time [FILE]`
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::time::{Duration, Instant};

use turnbuckle_sqlite::SqliteStore;
use turnbuckle_store::{AppendAt, Condition, Keep, Position, ReadLimit, Store, StoreKey};

const ROUNDS: usize = 20_000;
const TTL: Duration = Duration::from_secs(600);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = std::env::args_os().nth(1).map(Into::into);
    let store = SqliteStore::open(path.unwrap_or_else(|| directory.path().join("state.db")))?;
    let names = [
        "get",
        "put",
        "put Version",
        "append",
        "read",
        "publish",
        "push, claim, complete",
    ];
    let mut times = names.map(|_| Vec::with_capacity(ROUNDS));
    let (log, queue) = (StoreKey::new("log")?, StoreKey::new("queue")?);
    let keep = Keep {
        entries: 1000,
        ttl: TTL,
    };
    let limit = ReadLimit {
        entries: 10,
        bytes: 65_536,
    };
    let value = bytes::Bytes::from(vec![b'v'; 1024]);
    for round in 0..ROUNDS {
        let key = StoreKey::new(format!("key/{}", round % 1000))?;
        let mut kinds = times.iter_mut();
        let mut measure = |start: Instant| {
            if let Some(times) = kinds.next() {
                times.push(start.elapsed());
            }
        };
        let start = Instant::now();
        store.get(&key).await?;
        measure(start);
        let start = Instant::now();
        let version = store
            .put(&key, value.clone(), Condition::Always, TTL)
            .await?;
        measure(start);
        let when = version.map_or(Condition::Always, Condition::Version);
        let start = Instant::now();
        store.put(&key, value.clone(), when, TTL).await?;
        measure(start);
        let start = Instant::now();
        let last = store
            .append(&log, AppendAt::End, vec![value.clone()], keep)
            .await?;
        measure(start);
        let after = Position(last.unwrap_or_default().0.saturating_sub(10));
        let start = Instant::now();
        store.read(&log, after, limit).await?;
        measure(start);
        let start = Instant::now();
        store.publish(&key, value.clone()).await?;
        measure(start);
        let start = Instant::now();
        store.push(&queue, value.clone(), TTL).await?;
        if let Some(claim) = store.claim(&queue, TTL).await? {
            store.complete(claim).await?;
        }
        measure(start);
    }
    for (name, mut times) in names.into_iter().zip(times) {
        times.sort_unstable();
        let micros = |at: usize| times.get(at).copied().unwrap_or_default().as_secs_f64() * 1e6;
        println!(
            "{name:<22} p50 {:>7.1}  p99 {:>7.1}",
            micros(ROUNDS / 2),
            micros(ROUNDS * 99 / 100)
        );
    }
    Ok(())
}
