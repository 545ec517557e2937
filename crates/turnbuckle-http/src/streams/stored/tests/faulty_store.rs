//! A store that fails or stops for one instance.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use turnbuckle_store::{
    AppendAt, Claim, Condition, Keep, LogSlice, MemoryStore, Position, ReadLimit, Store,
    StoreError, StoreErrorKind, StoreFuture, StoreKey, Subscription, Version, Versioned,
};

/// The way in which the store answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreMode {
    Open,
    /// Operations take place, and their answers are lost.
    Failing,
    /// Operations wait.
    Paused,
}

/// A handle on a store that fails or stops for one instance.
#[derive(Clone)]
pub(super) struct FaultyStore {
    store: MemoryStore,
    mode: Arc<watch::Sender<StoreMode>>,
}

impl FaultyStore {
    pub(super) fn new(store: MemoryStore) -> Self {
        Self {
            store,
            mode: Arc::new(watch::Sender::new(StoreMode::Open)),
        }
    }

    pub(super) fn fail(&self, fails: bool) {
        self.mode.send_replace(if fails {
            StoreMode::Failing
        } else {
            StoreMode::Open
        });
    }

    pub(super) fn pause(&self, pauses: bool) {
        self.mode.send_replace(if pauses {
            StoreMode::Paused
        } else {
            StoreMode::Open
        });
    }

    fn pass<'a, T: Send + 'a>(&self, operation: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        let mut mode = self.mode.subscribe();
        Box::pin(async move {
            let found = mode.wait_for(|mode| *mode != StoreMode::Paused).await;
            let fails = found.is_ok_and(|mode| *mode == StoreMode::Failing);
            let done = operation.await;
            match fails {
                true => Err(StoreError::new(StoreErrorKind::Unavailable, "cut")),
                false => done,
            }
        })
    }
}

impl Store for FaultyStore {
    fn get(&self, key: &StoreKey) -> StoreFuture<'_, Option<Versioned>> {
        self.pass(self.store.get(key))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> StoreFuture<'_, Option<Version>> {
        self.pass(self.store.put(key, value, when, ttl))
    }

    fn remove(&self, key: &StoreKey, when: Condition) -> StoreFuture<'_, bool> {
        self.pass(self.store.remove(key, when))
    }

    fn touch(&self, keys: Vec<StoreKey>, ttl: Duration) -> StoreFuture<'_, ()> {
        self.pass(self.store.touch(keys, ttl))
    }

    fn append(
        &self,
        log: &StoreKey,
        at: AppendAt,
        entries: Vec<Bytes>,
        keep: Keep,
    ) -> StoreFuture<'_, Option<Position>> {
        self.pass(self.store.append(log, at, entries, keep))
    }

    fn read(&self, log: &StoreKey, after: Position, limit: ReadLimit) -> StoreFuture<'_, LogSlice> {
        self.pass(self.store.read(log, after, limit))
    }

    fn publish(&self, topic: &StoreKey, message: Bytes) -> StoreFuture<'_, ()> {
        self.pass(self.store.publish(topic, message))
    }

    fn subscribe(&self, topic: &StoreKey) -> StoreFuture<'_, Subscription> {
        self.pass(self.store.subscribe(topic))
    }

    fn push(&self, queue: &StoreKey, job: Bytes, ttl: Duration) -> StoreFuture<'_, ()> {
        self.pass(self.store.push(queue, job, ttl))
    }

    fn claim(&self, queue: &StoreKey, hidden_for: Duration) -> StoreFuture<'_, Option<Claim>> {
        self.pass(self.store.claim(queue, hidden_for))
    }

    fn extend(&self, claim: &Claim, hidden_for: Duration) -> StoreFuture<'_, bool> {
        self.pass(self.store.extend(claim, hidden_for))
    }

    fn complete(&self, claim: Claim) -> StoreFuture<'_, bool> {
        self.pass(self.store.complete(claim))
    }
}
