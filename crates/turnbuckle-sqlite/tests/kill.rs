//! Writers that are killed in the middle: each acknowledged write is there, and none is half there.
//!
//! Forty kills by hand: `cargo nextest run -p turnbuckle-sqlite --run-ignored all forty_kills`.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use turnbuckle_sqlite::SqliteStore;
use turnbuckle_store::{AppendAt, Condition, Keep, Position, ReadLimit, Store, StoreKey};

/// The variable with the path of the file, which makes a writer of this program.
const PATH: &str = "TURNBUCKLE_KILL_TEST_PATH";
const WRITES: u64 = 1000;
const TTL: Duration = Duration::from_secs(3600);
const KEEP: Keep = Keep {
    entries: u64::MAX,
    ttl: TTL,
};

/// Returns the bytes of one write: long enough for several pages, and all of them say which write it is.
fn content(number: u64) -> Bytes {
    number.to_be_bytes().repeat(1500).into()
}

fn keys() -> (StoreKey, StoreKey, StoreKey) {
    let key = |text: &str| StoreKey::new(text).unwrap();
    (key("value"), key("log"), key("queue"))
}

/// The writer: it does nothing unless a test has started it.
#[tokio::test]
async fn write_until_killed() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let store = SqliteStore::open(path).unwrap();
    let (value, log, queue) = keys();
    for number in 1..=WRITES {
        let bytes = content(number);
        store
            .put(&value, bytes.clone(), Condition::Always, TTL)
            .await
            .unwrap();
        let batch = vec![bytes.clone(), bytes.clone()];
        store
            .append(&log, AppendAt::End, batch, KEEP)
            .await
            .unwrap();
        store.push(&queue, bytes.clone(), TTL).await.unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "acknowledged {number}").unwrap();
        out.flush().unwrap();
    }
}

/// Kills a writer after it has acknowledged `after` writes, and checks the file.
async fn kill(directory: &Path, after: u64) {
    let path = directory.join(format!("{after}.db"));
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "write_until_killed", "--nocapture"])
        .env(PATH, &path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut acknowledged = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(number) = line.strip_prefix("acknowledged ") {
            acknowledged = number.parse().unwrap();
            if acknowledged == after {
                // What it still acknowledges before it dies is read to the end of the pipe.
                child.kill().unwrap();
            }
        }
    }
    child.wait().unwrap();
    assert!(
        (after..WRITES).contains(&acknowledged),
        "{acknowledged} of {after}"
    );

    let store = SqliteStore::open(&path).unwrap();
    let (value, log, queue) = keys();
    let found = store.get(&value).await.unwrap().unwrap().value;
    let written = u64::from_be_bytes(*found.first_chunk().unwrap());
    assert!(
        (acknowledged..=acknowledged + 1).contains(&written),
        "{written} of {acknowledged}"
    );
    assert!(found == content(written), "half a value");

    let mut position = Position(0);
    loop {
        let slice = store
            .read(&log, position, ReadLimit::default())
            .await
            .unwrap();
        for entry in &slice.entries {
            position.0 += 1;
            assert!(
                *entry == content(position.0.div_ceil(2)),
                "entry {position:?}"
            );
        }
        if slice.entries.is_empty() {
            assert_eq!(slice.last, position);
            break;
        }
    }
    assert_eq!(position.0 % 2, 0, "half a batch");
    assert!(
        (acknowledged..=written).contains(&(position.0 / 2)),
        "{position:?} of {acknowledged}"
    );

    let mut jobs = 0;
    while let Some(claim) = store.claim(&queue, TTL).await.unwrap() {
        jobs += 1;
        assert!(claim.job == content(jobs), "job {jobs}");
    }
    assert!(
        (acknowledged..=position.0 / 2).contains(&jobs),
        "{jobs} jobs of {acknowledged}"
    );
}

#[tokio::test]
async fn acknowledged_writes_outlive_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    for after in [1, 40, 200] {
        kill(directory.path(), after).await;
    }
}

#[tokio::test]
#[ignore = "by hand: it kills forty writers"]
async fn forty_kills() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..40 {
        kill(directory.path(), 5 + round * 23).await;
    }
}
