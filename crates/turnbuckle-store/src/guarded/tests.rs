use std::future::{pending, ready};
use std::sync::{Mutex, PoisonError};

use super::*;
use crate::MemoryStore;
use crate::contract::{self, ContractBackend, ContractFuture};

const SECOND: Duration = Duration::from_secs(1);

fn new_store() -> GuardedStore<MemoryStore> {
    GuardedStore::new(MemoryStore::new())
}

fn failure<T: Send + 'static>(kind: StoreErrorKind) -> StoreFuture<'static, T> {
    Box::pin(ready(Err(StoreError::new(kind, "failed"))))
}

async fn fail(store: &GuardedStore<MemoryStore>, kind: StoreErrorKind) -> StoreErrorKind {
    let result: Result<(), _> = store.run("get", 0, |_| failure(kind)).await;
    result.unwrap_err().kind()
}

async fn get(store: &GuardedStore<MemoryStore>) -> Option<StoreErrorKind> {
    let got = store.get(&StoreKey::new("k").unwrap()).await;
    got.err().map(|error| error.kind())
}

struct Backend(MemoryStore);

impl ContractBackend for Backend {
    fn open(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        let store: Arc<dyn Store> = Arc::new(self.0.clone());
        Box::pin(async { Ok(Arc::new(GuardedStore::new(store)) as Arc<dyn Store>) })
    }

    fn advance(&self, time: Duration) -> ContractFuture<'_, ()> {
        Box::pin(tokio::time::advance(time))
    }
}

#[tokio::test(start_paused = true)]
async fn a_guard_keeps_the_rules_of_stores() {
    contract::check(&Backend(MemoryStore::new())).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_operation_ends_in_time() {
    let store = new_store();
    let begun = Instant::now();
    let running: StoreFuture<'_, ()> = store.run("get", 0, |_| Box::pin(pending()));
    let error = running.await.unwrap_err();
    assert_eq!(begun.elapsed(), SECOND);
    assert_eq!(error.kind(), StoreErrorKind::TimedOut);
    assert!(error.to_string().contains("within 1s"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn no_more_operations_run_at_once_than_may() {
    let store = GuardedStore::with_options(
        MemoryStore::new(),
        GuardOptions::new().max_operations(2).max_bytes(10),
    );
    let wait = |bytes| store.run::<()>("put", bytes, |_| Box::pin(pending()));
    let (one, two) = (wait(8), wait(2));
    assert_eq!(get(&store).await, Some(StoreErrorKind::Busy));
    // A place is free as soon as its operation is given up.
    drop(two);
    assert_eq!(get(&store).await, None);
    assert_eq!(wait(3).await.unwrap_err().kind(), StoreErrorKind::Busy);
    drop(wait(2));
    drop(one);
    // Alone, an operation may be larger than all together.
    assert_eq!(wait(11).await.unwrap_err().kind(), StoreErrorKind::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_again_and_again_is_not_asked_for_a_while() {
    let store = new_store();
    for _ in 0..4 {
        assert_eq!(
            fail(&store, StoreErrorKind::TimedOut).await,
            StoreErrorKind::TimedOut
        );
    }
    // A refusal is no failure, and a success ends the row.
    assert_eq!(
        fail(&store, StoreErrorKind::Full).await,
        StoreErrorKind::Full
    );
    for _ in 0..5 {
        fail(&store, StoreErrorKind::Unavailable).await;
    }
    for _ in 0..3 {
        let error = store.get(&StoreKey::new("k").unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        assert!(error.to_string().contains("5 times in a row"), "{error}");
    }
    tokio::time::advance(SECOND).await;
    // One tries at a time, and gives its place to another when it is dropped.
    let tries: StoreFuture<'_, ()> = store.run("get", 0, |_| Box::pin(pending()));
    assert_eq!(get(&store).await, Some(StoreErrorKind::Unavailable));
    drop(tries);
    assert_eq!(
        fail(&store, StoreErrorKind::TimedOut).await,
        StoreErrorKind::TimedOut
    );
    assert_eq!(get(&store).await, Some(StoreErrorKind::Unavailable));
    tokio::time::advance(SECOND).await;
    assert_eq!(get(&store).await, None);
    assert_eq!(get(&store).await, None);
}

type Seen = Arc<Mutex<Vec<(&'static str, Option<StoreErrorKind>, Duration)>>>;

struct Recorder(Seen);

impl StoreObserver for Recorder {
    fn operation_ended(&self, name: &'static str, error: Option<StoreErrorKind>, time: Duration) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push((name, error, time));
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_gets_each_operation() {
    let seen = Seen::default();
    let options = GuardOptions::new().max_operations(1);
    let store =
        GuardedStore::with_options(MemoryStore::new(), options).observer(Recorder(seen.clone()));
    get(&store).await;
    let waits: StoreFuture<'_, ()> = store.run("push", 0, |_| Box::pin(pending()));
    get(&store).await;
    waits.await.unwrap_err();
    let seen = seen.lock().unwrap();
    let expected = [
        ("get", None, Duration::ZERO),
        ("get", Some(StoreErrorKind::Busy), Duration::ZERO),
        ("push", Some(StoreErrorKind::TimedOut), SECOND),
    ];
    assert_eq!(*seen, expected);
}
