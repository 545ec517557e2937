use super::*;
use crate::error::StoreErrorKind;

const TTL: Duration = Duration::from_secs(60);

fn key(text: &str) -> StoreKey {
    StoreKey::new(text).unwrap()
}

fn keep(entries: u64) -> Keep {
    Keep { entries, ttl: TTL }
}

async fn fill(store: &MemoryStore) {
    let value = Bytes::from_static(b"value");
    store
        .put(&key("k"), value.clone(), Condition::Always, TTL)
        .await
        .unwrap();
    let entries = vec![value.clone(); 3];
    store
        .append(&key("k"), AppendAt::End, entries, keep(2))
        .await
        .unwrap();
    store.push(&key("k"), value.clone(), TTL).await.unwrap();
    store.push(&key("k"), value, TTL).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_after_expiry_while_nobody_uses_the_store() {
    let store = MemoryStore::new();
    fill(&store).await;
    assert_eq!(store.0.lock().len(), 5);
    store.claim(&key("k"), TTL).await.unwrap().unwrap();
    tokio::time::sleep(TTL - SWEEP_INTERVAL).await;
    assert_eq!(store.0.lock().len(), 5);
    tokio::time::sleep(2 * SWEEP_INTERVAL).await;
    assert!(store.0.lock().is_clean());
    // The task of the runtime has ended, and another begins when it is needed.
    assert!(store.0.lock().sweeper.is_none());
    fill(&store).await;
    tokio::time::sleep(TTL + SWEEP_INTERVAL).await;
    assert!(store.0.lock().is_clean());
}

#[tokio::test(start_paused = true)]
async fn the_task_ends_with_the_store() {
    let store = MemoryStore::new();
    fill(&store).await;
    let sweeper = store.0.lock().sweeper.clone().unwrap();
    assert!(!sweeper.is_finished());
    drop(store);
    tokio::task::yield_now().await;
    assert!(sweeper.is_finished());
}

#[tokio::test(start_paused = true)]
async fn removed_things_are_no_longer_counted() {
    let store = MemoryStore::new();
    for _ in 0..3 {
        fill(&store).await;
        store
            .touch(vec![key("k"), key("other")], 2 * TTL)
            .await
            .unwrap();
        assert!(store.remove(&key("k"), Condition::Always).await.unwrap());
        while let Some(claim) = store.claim(&key("k"), TTL).await.unwrap() {
            assert!(store.extend(&claim, TTL).await.unwrap());
            assert!(store.complete(claim).await.unwrap());
        }
        assert_eq!(store.len(), 2);
    }
    assert_eq!(store.0.lock().expiry_count(), 1);
    tokio::time::advance(TTL).await;
    assert!(store.is_empty());
    assert!(store.0.lock().is_clean());
}

#[tokio::test]
async fn a_full_store_names_its_bound_and_takes_nothing() {
    let value = Bytes::from_static(b"value");
    for (options, bound) in [
        (
            MemoryStoreOptions::new().max_entries(5),
            "5 entries (MemoryStoreOptions::max_entries)",
        ),
        (
            MemoryStoreOptions::new().max_bytes(5 * 134),
            "670 bytes (MemoryStoreOptions::max_bytes)",
        ),
    ] {
        let store = MemoryStore::with_options(options);
        fill(&store).await;
        let errors = [
            store
                .put(&key("n"), value.clone(), Condition::Absent, TTL)
                .await
                .unwrap_err(),
            store.push(&key("n"), value.clone(), TTL).await.unwrap_err(),
            store
                .append(&key("n"), AppendAt::End, vec![value.clone(); 2], keep(9))
                .await
                .unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), StoreErrorKind::Full);
            assert!(error.to_string().contains(bound), "{error}");
        }
        assert_eq!(store.len(), 5);
        // A value of the same size takes the place of another one.
        let replaced = store
            .put(&key("k"), value.clone(), Condition::Always, TTL)
            .await;
        assert!(replaced.unwrap().is_some());
        assert!(store.remove(&key("k"), Condition::Always).await.unwrap());
        let added = store
            .put(&key("n"), value.clone(), Condition::Absent, TTL)
            .await;
        assert!(added.unwrap().is_some());
    }
}

#[test]
fn a_store_needs_no_runtime() {
    let store = MemoryStore::new();
    let value = Bytes::from_static(b"value");
    let put = store.put(&key("k"), value, Condition::Always, TTL);
    let mut put = std::pin::pin!(put);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(put.as_mut().poll(&mut cx).is_ready());
    assert_eq!(store.len(), 1);
}
