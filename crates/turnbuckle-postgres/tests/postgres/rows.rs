//! Tables that are newer, damaged, or of other programs, and rows that have expired.

use std::time::{Duration, Instant};

use turnbuckle_store::{
    AppendAt, Condition, Keep, Position, ReadLimit, Store, StoreError, StoreErrorKind,
};

use crate::engine::{Engine, TIMEOUT, TTL, get, key, put, wait_for};

async fn open_error(engine: &Engine) -> StoreError {
    engine.store_with(Default::default()).await.unwrap_err()
}

#[tokio::test]
async fn a_newer_version_is_refused_with_both_numbers() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    put(&store, "k", "v").await.unwrap();
    let client = engine.client().await;
    let set = async |sql: &str| client.batch_execute(sql).await.unwrap();
    set("UPDATE turnbuckle.format SET version = 9").await;
    let newer = open_error(&engine).await;
    assert_eq!(newer.kind(), StoreErrorKind::NewerVersion);
    assert!(newer.to_string().contains("version 9"), "{newer}");
    assert!(newer.to_string().contains("knows version 1"), "{newer}");

    set("UPDATE turnbuckle.format SET version = -1").await;
    assert_eq!(open_error(&engine).await.kind(), StoreErrorKind::Corrupt);
    set("TRUNCATE turnbuckle.format").await;
    assert_eq!(open_error(&engine).await.kind(), StoreErrorKind::Corrupt);
    set("INSERT INTO turnbuckle.format VALUES (1)").await;
    assert_eq!(get(&engine.store().await, "k").await.as_deref(), Some("v"));
}

#[tokio::test]
async fn a_schema_of_another_program_is_left_alone() {
    let engine = Engine::start().await;
    let client = engine.client().await;
    let sql = "CREATE SCHEMA turnbuckle; CREATE TABLE turnbuckle.value (other integer)";
    client.batch_execute(sql).await.unwrap();
    let foreign = open_error(&engine).await;
    assert_eq!(foreign.kind(), StoreErrorKind::Misconfigured);
    let text = foreign.to_string();
    assert!(text.contains("PostgresStoreOptions::schema"), "{text}");
    let sql = "SELECT count(*) FROM pg_tables WHERE schemaname = 'turnbuckle'";
    let tables = client.query_one(sql, &[]).await.unwrap();
    assert_eq!(tables.get::<_, i64>(0), 1);
}

#[tokio::test]
async fn rows_that_do_not_fit_to_each_other_are_corrupt() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let keep = Keep {
        entries: 9,
        ttl: TTL,
    };
    let log = key("l");
    let entries = vec!["a".into(), "b".into(), "c".into()];
    store
        .append(&log, AppendAt::End, entries, keep)
        .await
        .unwrap();
    let client = engine.client().await;
    for sql in [
        "DELETE FROM turnbuckle.entry WHERE position = 2",
        "UPDATE turnbuckle.log SET first = 7",
        "ALTER TABLE turnbuckle.entry ALTER COLUMN bytes TYPE text USING 'x'",
        "DROP TABLE turnbuckle.entry",
    ] {
        client.batch_execute(sql).await.unwrap();
        let read = store.read(&log, Position(0), ReadLimit::default()).await;
        let corrupt = read.unwrap_err();
        assert_eq!(corrupt.kind(), StoreErrorKind::Corrupt, "{sql}: {corrupt}");
    }
}

#[tokio::test]
async fn a_database_that_was_emptied_gets_new_tables() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    put(&store, "k", "v").await.unwrap();
    let sql = "DROP SCHEMA turnbuckle CASCADE";
    engine.client().await.batch_execute(sql).await.unwrap();
    // Each connection says so once.
    let start = Instant::now();
    while let Err(gone) = put(&store, "k", "new").await {
        assert_eq!(gone.kind(), StoreErrorKind::Corrupt, "{gone}");
        assert!(start.elapsed() < TIMEOUT);
    }
    assert_eq!(get(&store, "k").await.as_deref(), Some("new"));
}

#[tokio::test]
async fn expired_rows_are_removed_while_nobody_uses_the_store() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let ttl = Duration::from_millis(20);
    let keep = Keep { entries: 2000, ttl };
    for number in 0..600 {
        let value = key(&format!("k{number}"));
        let put = store.put(&value, "v".into(), Condition::Always, ttl);
        put.await.unwrap();
    }
    for _ in 0..2 {
        let entries = vec!["e".into(); 600];
        store
            .append(&key("l"), AppendAt::End, entries, keep)
            .await
            .unwrap();
    }
    store.push(&key("q"), "j".into(), ttl).await.unwrap();
    let client = engine.client().await;
    for table in ["value", "entry", "log", "job"] {
        let sql = format!("SELECT count(*) FROM turnbuckle.{table}");
        wait_for(&client, &sql, 0).await;
    }
}

#[tokio::test]
async fn entries_that_are_not_kept_are_removed_step_by_step() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let append = async |entries: usize, kept: u64| {
        let keep = Keep {
            entries: kept,
            ttl: TTL,
        };
        let batch = vec!["e".into(); entries];
        let last = store.append(&key("l"), AppendAt::End, batch, keep);
        last.await.unwrap().unwrap().0
    };
    let client = engine.client().await;
    let rows = async || {
        let sql = "SELECT count(*) FROM turnbuckle.entry";
        client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0)
    };
    append(1000, 5000).await;
    append(1000, 5000).await;
    assert_eq!(append(1, 1).await, 2001);
    let slice = store.read(&key("l"), Position(0), ReadLimit::default());
    assert_eq!(slice.await.unwrap().first, Position(2001));
    // A bounded number for each append.
    assert_eq!(rows().await, 2001 - 513);
    for _ in 0..3 {
        append(1, 1).await;
    }
    assert_eq!(rows().await, 1);
}
