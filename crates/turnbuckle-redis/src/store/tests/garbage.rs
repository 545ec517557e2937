//! Keys that hold what no store writes.

use turnbuckle_store::{Seal, SealedStore};

use super::*;

const CORRUPT: Option<StoreErrorKind> = Some(StoreErrorKind::Corrupt);

#[tokio::test]
async fn values_of_others_are_corrupt() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let name = "turnbuckle:v:{k}";
    let long = "x".repeat(VERSION_BYTES + MAX_VALUE_BYTES + 1);
    for garbage in [
        format!("SET {name} short"),
        format!("SET {name} {long}"),
        format!("RPUSH {name} a"),
        format!("HSET {name} f v"),
    ] {
        let _: u64 = engine.run(&format!("DEL {name}")).await;
        let _: Value = engine.run(&garbage).await;
        let shown = &garbage[..garbage.len().min(40)];
        let error = store.get(&key("k")).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{shown}: {error}");
        let put = store.put(&key("k"), "v".into(), Condition::Version(Version(7)), TTL);
        let put = put.await.map_or_else(
            |error| Some(error.kind()),
            |it| {
                assert_eq!(it, None);
                CORRUPT
            },
        );
        assert_eq!(put, CORRUPT, "{shown}");
        // It is in the way, and it can be replaced.
        let absent = store.put(&key("k"), "v".into(), Condition::Absent, TTL);
        assert_eq!(absent.await.unwrap(), None, "{shown}");
        let always = store.put(&key("k"), "v".into(), Condition::Always, TTL);
        assert!(always.await.unwrap().is_some(), "{shown}");
        assert_eq!(store.get(&key("k")).await.unwrap().unwrap().value, "v");
    }
}

#[tokio::test]
async fn logs_of_others_are_corrupt() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let name = "turnbuckle:l:{k}";
    let large = "x".repeat(MAX_ENTRY_BYTES + 1);
    for (garbage, can_append) in [
        (vec![format!("SET {name} text")], false),
        (vec![format!("XADD {name} 7-1 e v")], false),
        (
            vec![format!("XADD {name} 0-18446744073709551615 e v")],
            false,
        ),
        // A gap.
        (
            vec![
                format!("XADD {name} 0-1 e v"),
                format!("XADD {name} 0-9 e v"),
            ],
            true,
        ),
        (
            vec![
                format!("XADD {name} 0-1 e v"),
                format!("XADD {name} 0-2 e v"),
                format!("XADD {name} 0-3 e v"),
                format!("XDEL {name} 0-2"),
            ],
            true,
        ),
        (vec![format!("XADD {name} 0-1 e {large}")], true),
    ] {
        let _: u64 = engine.run(&format!("DEL {name}")).await;
        for command in &garbage {
            let _: Value = engine.run(command).await;
        }
        let shown = &garbage[0][..garbage[0].len().min(40)];
        let read = store.read(&key("k"), Position(0), ReadLimit::default());
        let error = read.await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{shown}: {error}");
        let append = store.append(&key("k"), AppendAt::End, vec!["e".into()], KEEP);
        assert_eq!(append.await.is_ok(), can_append, "{shown}");
    }
}

#[tokio::test]
async fn queues_of_others_are_corrupt() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let (queue, jobs) = ("turnbuckle:q:{k}", "turnbuckle:j:{k}:");
    let id = "f".repeat(32);
    for garbage in [
        vec![format!("SET {queue} text")],
        vec![
            format!("ZADD {queue} 0 {id}"),
            format!("SET {jobs}{id} text"),
        ],
        vec![
            format!("ZADD {queue} 0 {id}"),
            format!("HSET {jobs}{id} job j attempt many"),
        ],
        vec![
            format!("ZADD {queue} 0 {id}"),
            format!("HSET {jobs}{id} job j attempt -9"),
        ],
        vec![
            format!("ZADD {queue} 0 {id}"),
            format!("HSET {jobs}{id} job j attempt 99999999999"),
        ],
        vec![
            format!("ZADD {queue} 0 name"),
            format!("HSET {jobs}name job j attempt 1"),
        ],
    ] {
        let () = engine.run("FLUSHALL").await;
        for command in &garbage {
            let _: Value = engine.run(command).await;
        }
        let error = store.claim(&key("k"), TTL).await.unwrap_err();
        assert_eq!(
            error.kind(),
            StoreErrorKind::Corrupt,
            "{garbage:?}: {error}"
        );
    }
    // An id without a job is skipped.
    let () = engine.run("FLUSHALL").await;
    let _: u64 = engine.run(&format!("ZADD {queue} 0 {id}")).await;
    assert_eq!(store.claim(&key("k"), TTL).await.unwrap(), None);
    assert_eq!(engine.run::<u64>("DBSIZE").await, 0);
}

#[tokio::test]
async fn a_format_of_others_is_corrupt() {
    let engine = Engine::start().await;
    let () = engine.run("SET turnbuckle:format many").await;
    assert_eq!(kind(RedisStore::connect(&engine.url).await), CORRUPT);
    let _: u64 = engine.run("DEL turnbuckle:format").await;
    let _: u64 = engine.run("RPUSH turnbuckle:format 1").await;
    assert_eq!(kind(RedisStore::connect(&engine.url).await), CORRUPT);
}

/// Stands for encryption: the bytes open only in the context in which they were sealed.
struct Context;

impl Seal for Context {
    fn overhead(&self) -> usize {
        64
    }

    fn seal(&self, context: &[u8], plain: &[u8]) -> Result<Vec<u8>, StoreError> {
        Ok([context, b"|", plain].concat())
    }

    fn open(&self, context: &[u8], sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        let opened = sealed.strip_prefix(&[context, b"|"].concat()[..]);
        let error = || StoreError::new(StoreErrorKind::Corrupt, "it does not open");
        opened.map(<[u8]>::to_vec).ok_or_else(error)
    }
}

#[tokio::test]
async fn keys_that_were_swapped_do_not_open() {
    let engine = Engine::start().await;
    let store = SealedStore::new(engine.store().await, Context);
    for name in ["a", "b"] {
        let put = store.put(&key(name), "v".into(), Condition::Always, TTL);
        put.await.unwrap();
    }
    let mut names: Vec<String> = engine.run("KEYS turnbuckle:v:*").await;
    names.sort_unstable();
    let [one, two] = &names[..] else {
        panic!("{names:?}")
    };
    for (from, to) in [(one.as_str(), "x"), (two, one), ("x", two)] {
        let () = engine.run(&format!("RENAME {from} {to}")).await;
    }
    for name in ["a", "b"] {
        assert_eq!(kind(store.get(&key(name)).await), CORRUPT);
    }
}
