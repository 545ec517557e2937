//! Prints the time that operations of a store in PostgreSQL take, in microseconds: the median and the 99th
//! percentile of one after the other, and how many a second 64 tasks do.
//! `cargo run --release -p turnbuckle-postgres --example store_time ADDRESS [CONNECTIONS]`
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use turnbuckle_postgres::{PostgresStore, PostgresStoreOptions};
use turnbuckle_store::{
    AppendAt, Condition, Keep, Position, ReadLimit, Store, StoreError, StoreKey,
};

const ROUNDS: usize = 2_000;
const TASKS: usize = 64;
const TTL: Duration = Duration::from_secs(600);

type Done = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// An operation, with the number of its round.
type Operation = fn(PostgresStore, usize) -> Done;

fn key(group: &str, number: usize) -> Result<StoreKey, StoreError> {
    StoreKey::new(format!("{group}/{}", number % 1000))
}

fn value() -> Bytes {
    vec![b'v'; 1024].into()
}

const OPERATIONS: [(&str, Operation); 6] = [
    ("put", |store, number| {
        Box::pin(async move {
            let key = key("key", number)?;
            store
                .put(&key, value(), Condition::Always, TTL)
                .await
                .map(drop)
        })
    }),
    ("get", |store, number| {
        Box::pin(async move { store.get(&key("key", number)?).await.map(drop) })
    }),
    ("append", |store, number| {
        Box::pin(async move {
            let keep = Keep {
                entries: 1000,
                ttl: TTL,
            };
            let log = key("log", number % 8)?;
            let entries = vec![value()];
            store
                .append(&log, AppendAt::End, entries, keep)
                .await
                .map(drop)
        })
    }),
    ("read 10 entries", |store, number| {
        Box::pin(async move {
            let limit = ReadLimit {
                entries: 10,
                bytes: 65_536,
            };
            let log = key("log", number % 8)?;
            store.read(&log, Position(0), limit).await.map(drop)
        })
    }),
    ("publish", |store, number| {
        Box::pin(async move { store.publish(&key("topic", number)?, value()).await })
    }),
    ("push, claim, complete", |store, number| {
        Box::pin(async move {
            let queue = key("queue", number % 8)?;
            store.push(&queue, value(), TTL).await?;
            if let Some(claim) = store.claim(&queue, TTL).await? {
                store.complete(claim).await?;
            }
            Ok(())
        })
    }),
];

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("give the address of a database")?;
    let mut options = PostgresStoreOptions::new().statement_timeout(Duration::from_secs(10));
    if let Some(connections) = arguments.next() {
        options = options.max_connections(connections.parse()?);
    }
    let store = PostgresStore::connect_with(&address, options).await?;
    for (name, operation) in OPERATIONS {
        let mut times = Vec::with_capacity(ROUNDS);
        for round in 0..ROUNDS {
            let start = Instant::now();
            operation(store.clone(), round).await?;
            times.push(start.elapsed());
        }
        times.sort_unstable();
        let micros = |at: usize| times.get(at).copied().unwrap_or_default().as_secs_f64() * 1e6;
        let start = Instant::now();
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let store = store.clone();
                tokio::spawn(async move {
                    for round in 0..ROUNDS / 16 {
                        operation(store.clone(), task + round * TASKS).await?;
                    }
                    Ok::<_, StoreError>(())
                })
            })
            .collect();
        for task in tasks {
            task.await??;
        }
        let each_second = (ROUNDS / 16 * TASKS) as f64 / start.elapsed().as_secs_f64();
        println!(
            "{name:<22} p50 {:>7.1}  p99 {:>7.1}  {each_second:>7.0} a second",
            micros(ROUNDS / 2),
            micros(ROUNDS * 99 / 100)
        );
    }
    let mut subscription = store.subscribe(&key("arrival", 0)?).await?;
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        store.publish(&key("arrival", 0)?, value()).await?;
        subscription.next().await;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let micros = |at: usize| times.get(at).copied().unwrap_or_default().as_secs_f64() * 1e6;
    println!(
        "{:<22} p50 {:>7.1}  p99 {:>7.1}",
        "publish, arrive",
        micros(ROUNDS / 2),
        micros(ROUNDS * 99 / 100)
    );
    Ok(())
}
