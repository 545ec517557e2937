//! A store that fails in time, and by name, when the store behind it is slow or gone.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tracing::{Instrument as _, Span, field};

use crate::error::{StoreError, StoreErrorKind};
use crate::store::{Store, StoreFuture};
use crate::topic::Subscription;
use crate::types::{
    AppendAt, Claim, Condition, Keep, LogSlice, Position, ReadLimit, StoreKey, Version, Versioned,
};

mod gate;

use gate::{Gate, Permit};

/// The bounds of a [`GuardedStore`].
#[derive(Debug, Clone, Copy)]
pub struct GuardOptions {
    timeout: Duration,
    max_operations: usize,
    max_bytes: usize,
    max_failures: u32,
    pause: Duration,
}

impl Default for GuardOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(1),
            max_operations: 256,
            max_bytes: 4 << 20,
            max_failures: 5,
            pause: Duration::from_secs(1),
        }
    }
}

impl GuardOptions {
    /// Returns the default bounds.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time for one operation: 1 s unless set.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the most operations at once: 256 unless set.
    #[must_use]
    pub fn max_operations(mut self, operations: usize) -> Self {
        self.max_operations = operations;
        self
    }

    /// Sets the most bytes of values, entries, messages and jobs that wait to be written: 4 MiB unless set.
    /// An operation that waits alone may have more.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the number of failures in a row after which the store is not asked for a while: 5 unless set.
    #[must_use]
    pub fn max_failures(mut self, failures: u32) -> Self {
        self.max_failures = failures;
        self
    }

    /// Sets the time for which the store is not asked: 1 s unless set. Then one operation tries.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }
}

/// A receiver of the operations of a [`GuardedStore`], for metrics. It is called on the path of each
/// operation and must not block.
pub trait StoreObserver: Send + Sync + 'static {
    /// Counts an operation that has ended or was refused: its name, the kind of its error, and the time
    /// that it took.
    fn operation_ended(
        &self,
        operation: &'static str,
        error: Option<StoreErrorKind>,
        time: Duration,
    );
}

/// A store around another one, whose operations end in bounded time.
///
/// An operation that takes longer than its time fails with [`StoreErrorKind::TimedOut`], more operations
/// than the bounds allow fail with [`StoreErrorKind::Busy`], and after repeated failures all fail with
/// [`StoreErrorKind::Unavailable`] at once for a while. Each operation has a span (`store`, at the level
/// `debug`).
///
/// ```
/// use turnbuckle_store::{GuardedStore, MemoryStore};
///
/// let store = GuardedStore::new(MemoryStore::new());
/// ```
pub struct GuardedStore<S> {
    store: S,
    options: GuardOptions,
    gate: Arc<Gate>,
    observer: Option<Arc<dyn StoreObserver>>,
}

impl<S: Store> GuardedStore<S> {
    /// Puts a guard around a store, with the default bounds.
    pub fn new(store: S) -> Self {
        Self::with_options(store, GuardOptions::default())
    }

    /// Puts a guard with these bounds around a store.
    pub fn with_options(store: S, options: GuardOptions) -> Self {
        Self {
            store,
            options,
            gate: Arc::new(Gate::new(options)),
            observer: None,
        }
    }

    /// Sets the receiver of all operations.
    #[must_use]
    pub fn observer(mut self, observer: impl StoreObserver) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    fn run<'a, T: Send + 'a>(
        &'a self,
        operation: &'static str,
        bytes: usize,
        start: impl FnOnce(&'a S) -> StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        let permit = match self.gate.enter(bytes) {
            Ok(permit) => permit,
            Err(error) => {
                self.observe(operation, Some(error.kind()), Duration::ZERO);
                return Box::pin(async { Err(error) });
            }
        };
        let span = tracing::debug_span!("store", operation, error.type = field::Empty);
        let running = start(&self.store);
        Box::pin(self.finish(operation, permit, running).instrument(span))
    }

    async fn finish<T>(
        &self,
        operation: &'static str,
        permit: Permit,
        mut running: StoreFuture<'_, T>,
    ) -> Result<T, StoreError> {
        let begun = self.observer.as_ref().map(|_| Instant::now());
        // An operation that is ready at once needs no timer.
        let ready = poll_fn(|cx| {
            Poll::Ready(match running.as_mut().poll(cx) {
                Poll::Ready(result) => Some(result),
                Poll::Pending => None,
            })
        });
        let result = match ready.await {
            Some(result) => result,
            None => self.wait(running).await,
        };
        let error = result.as_ref().err().map(StoreError::kind);
        permit.end(error);
        if let Some(kind) = error {
            Span::current().record("error.type", kind.name());
        }
        let time = begun.map(|begun| begun.elapsed()).unwrap_or_default();
        self.observe(operation, error, time);
        result
    }

    async fn wait<T>(&self, running: StoreFuture<'_, T>) -> Result<T, StoreError> {
        let timeout = self.options.timeout;
        match tokio::time::timeout(timeout, running).await {
            Ok(result) => result,
            Err(_) => Err(StoreError::new(
                StoreErrorKind::TimedOut,
                format!(
                    "the store did not answer within {timeout:?}: see whether it is overloaded or gone"
                ),
            )),
        }
    }

    fn observe(&self, operation: &'static str, error: Option<StoreErrorKind>, time: Duration) {
        if let Some(observer) = &self.observer {
            observer.operation_ended(operation, error, time);
        }
    }
}

impl<S: Store> Store for GuardedStore<S> {
    fn get(&self, key: &StoreKey) -> StoreFuture<'_, Option<Versioned>> {
        self.run("get", 0, |store| store.get(key))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> StoreFuture<'_, Option<Version>> {
        self.run("put", value.len(), |store| store.put(key, value, when, ttl))
    }

    fn remove(&self, key: &StoreKey, when: Condition) -> StoreFuture<'_, bool> {
        self.run("remove", 0, |store| store.remove(key, when))
    }

    fn touch(&self, keys: Vec<StoreKey>, ttl: Duration) -> StoreFuture<'_, ()> {
        self.run("touch", 0, |store| store.touch(keys, ttl))
    }

    fn append(
        &self,
        log: &StoreKey,
        at: AppendAt,
        entries: Vec<Bytes>,
        keep: Keep,
    ) -> StoreFuture<'_, Option<Position>> {
        let bytes = entries.iter().map(Bytes::len).sum();
        self.run("append", bytes, |store| {
            store.append(log, at, entries, keep)
        })
    }

    fn read(&self, log: &StoreKey, after: Position, limit: ReadLimit) -> StoreFuture<'_, LogSlice> {
        self.run("read", 0, |store| store.read(log, after, limit))
    }

    fn publish(&self, topic: &StoreKey, message: Bytes) -> StoreFuture<'_, ()> {
        self.run("publish", message.len(), |store| {
            store.publish(topic, message)
        })
    }

    fn subscribe(&self, topic: &StoreKey) -> StoreFuture<'_, Subscription> {
        self.run("subscribe", 0, |store| store.subscribe(topic))
    }

    fn push(&self, queue: &StoreKey, job: Bytes, ttl: Duration) -> StoreFuture<'_, ()> {
        self.run("push", job.len(), |store| store.push(queue, job, ttl))
    }

    fn claim(&self, queue: &StoreKey, hidden_for: Duration) -> StoreFuture<'_, Option<Claim>> {
        self.run("claim", 0, |store| store.claim(queue, hidden_for))
    }

    fn extend(&self, claim: &Claim, hidden_for: Duration) -> StoreFuture<'_, bool> {
        self.run("extend", 0, |store| store.extend(claim, hidden_for))
    }

    fn complete(&self, claim: Claim) -> StoreFuture<'_, bool> {
        self.run("complete", 0, |store| store.complete(claim))
    }
}

#[cfg(test)]
mod tests;
