//! A store in the memory of one process.

mod state;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::bounds::{
    check_append, check_job, check_message, check_touch, check_ttl, check_value, clamp_read,
};
use crate::error::StoreError;
use crate::store::{Store, StoreFuture};
use crate::topic::{Subscription, TopicHub};
use crate::types::{
    AppendAt, Claim, Condition, Keep, LogSlice, Position, ReadLimit, StoreKey, Version, Versioned,
};
use state::State;

/// The shortest time between two removals of what has expired, while nobody uses the store.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The bounds of a [`MemoryStore`].
#[derive(Debug, Clone, Copy)]
pub struct MemoryStoreOptions {
    max_entries: usize,
    max_bytes: usize,
}

impl Default for MemoryStoreOptions {
    fn default() -> Self {
        Self {
            max_entries: 100_000,
            max_bytes: 64 << 20,
        }
    }
}

impl MemoryStoreOptions {
    /// Returns the default bounds.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the most values, entries of logs and jobs, in sum: 100,000 unless set.
    #[must_use]
    pub fn max_entries(mut self, entries: usize) -> Self {
        self.max_entries = entries;
        self
    }

    /// Sets the most bytes of all keys, values, entries of logs and jobs, each counted with 128 bytes
    /// more: 64 MiB unless set.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }
}

/// A store in memory, for a server that is one process, and for tests. Clones are handles on the same
/// state.
///
/// Each operation first removes what has expired. While nobody uses the store, a task of the runtime in
/// which it was last written does so; it ends with the store.
#[derive(Clone)]
pub struct MemoryStore(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    hub: TopicHub,
}

impl MemoryStore {
    /// Creates an empty store with the default bounds.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(MemoryStoreOptions::default())
    }

    /// Creates an empty store.
    #[must_use]
    pub fn with_options(options: MemoryStoreOptions) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State::new(options.max_entries, options.max_bytes)),
            hub: TopicHub::default(),
        }))
    }

    /// Returns the number of values, entries of logs and jobs, without those that have expired.
    #[must_use]
    pub fn len(&self) -> usize {
        let mut state = self.0.lock();
        state.sweep(Instant::now());
        state.len()
    }

    /// Returns whether the store holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tells all subscribers that messages were lost, as after a lost connection to an engine.
    pub fn interrupt(&self) {
        self.0.hub.interrupt();
    }

    /// Runs an operation on the state, without what has expired.
    fn run<'s, T: Send + 's>(
        &'s self,
        operation: impl FnOnce(&mut State, Instant) -> Result<T, StoreError> + Send + 's,
    ) -> StoreFuture<'s, T> {
        Box::pin(async move {
            let now = Instant::now();
            let mut state = self.0.lock();
            state.sweep(now);
            let result = operation(&mut state, now);
            if state.needs_sweeper() {
                let sweeper = sweep_while_idle(Arc::downgrade(&self.0));
                if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                    state.sweeper = Some(runtime.spawn(sweeper).abort_handle());
                }
            }
            result
        })
    }
}

/// Removes what has expired until nothing is left or the store is dropped.
async fn sweep_while_idle(shared: Weak<Shared>) {
    loop {
        let next = {
            let Some(shared) = shared.upgrade() else {
                return;
            };
            let mut state = shared.lock();
            let now = Instant::now();
            state.sweep(now);
            match state.next_expiry() {
                Some(next) => next.max(now + SWEEP_INTERVAL),
                None => {
                    state.sweeper = None;
                    return;
                }
            }
        };
        tokio::time::sleep_until(next).await;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(sweeper) = self.lock().sweeper.take() {
            sweeper.abort();
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("len", &self.0.lock().len())
            .finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn get(&self, key: &StoreKey) -> StoreFuture<'_, Option<Versioned>> {
        let key = key.clone();
        self.run(move |state, _| Ok(state.get(&key)))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> StoreFuture<'_, Option<Version>> {
        let key = key.clone();
        self.run(move |state, now| {
            check_value(&value)?;
            check_ttl(ttl)?;
            state.put(&key, value, when, now + ttl)
        })
    }

    fn remove(&self, key: &StoreKey, when: Condition) -> StoreFuture<'_, bool> {
        let key = key.clone();
        self.run(move |state, _| Ok(state.remove(&key, when)))
    }

    fn touch(&self, keys: Vec<StoreKey>, ttl: Duration) -> StoreFuture<'_, ()> {
        self.run(move |state, now| {
            check_touch(keys.len())?;
            check_ttl(ttl)?;
            for key in &keys {
                state.touch(key, now + ttl);
            }
            Ok(())
        })
    }

    fn append(
        &self,
        log: &StoreKey,
        at: AppendAt,
        entries: Vec<Bytes>,
        keep: Keep,
    ) -> StoreFuture<'_, Option<Position>> {
        let log = log.clone();
        self.run(move |state, now| {
            check_append(&entries, &keep)?;
            state.append(&log, at, entries, keep.entries, now + keep.ttl)
        })
    }

    fn read(&self, log: &StoreKey, after: Position, limit: ReadLimit) -> StoreFuture<'_, LogSlice> {
        let log = log.clone();
        self.run(move |state, _| Ok(state.read(&log, after, clamp_read(limit))))
    }

    fn publish(&self, topic: &StoreKey, message: Bytes) -> StoreFuture<'_, ()> {
        let topic = topic.clone();
        Box::pin(async move {
            check_message(&message)?;
            self.0.hub.deliver(&topic, &message);
            Ok(())
        })
    }

    fn subscribe(&self, topic: &StoreKey) -> StoreFuture<'_, Subscription> {
        let topic = topic.clone();
        Box::pin(async move { self.0.hub.subscribe(&topic) })
    }

    fn push(&self, queue: &StoreKey, job: Bytes, ttl: Duration) -> StoreFuture<'_, ()> {
        let queue = queue.clone();
        self.run(move |state, now| {
            check_job(&job)?;
            check_ttl(ttl)?;
            state.push(&queue, job, now + ttl)
        })
    }

    fn claim(&self, queue: &StoreKey, hidden_for: Duration) -> StoreFuture<'_, Option<Claim>> {
        let queue = queue.clone();
        self.run(move |state, now| {
            check_ttl(hidden_for)?;
            Ok(state.claim(&queue, now, now + hidden_for))
        })
    }

    fn extend(&self, claim: &Claim, hidden_for: Duration) -> StoreFuture<'_, bool> {
        let claim = claim.clone();
        self.run(move |state, now| {
            check_ttl(hidden_for)?;
            Ok(state.extend(&claim, now + hidden_for))
        })
    }

    fn complete(&self, claim: Claim) -> StoreFuture<'_, bool> {
        self.run(move |state, _| Ok(state.complete(&claim)))
    }
}

#[cfg(test)]
mod tests;
