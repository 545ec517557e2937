//! The trait of stores.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::error::StoreError;
use crate::topic::Subscription;
use crate::types::{
    AppendAt, Claim, Condition, Keep, LogSlice, Position, ReadLimit, StoreKey, Version, Versioned,
};

/// The future of an operation of a [`Store`].
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// State that the instances of one server share: values, logs, topics and queues of bytes.
///
/// Values, logs, topics and queues have keys of their own: a value and a log of the same key are two
/// things. Everything that is kept has a time to live, after which nothing of it is left.
///
/// An operation is atomic, and its effect is visible to each operation that begins after it has
/// returned, on any instance. A future that is dropped, or that fails with
/// [`TimedOut`](crate::StoreErrorKind::TimedOut) or [`Unavailable`](crate::StoreErrorKind::Unavailable), may or may not
/// have had its effect.
///
/// Sizes are bounded: see [`bounds`](crate::bounds). [`contract`](crate::contract) tests a store against
/// these rules (feature `contract`).
pub trait Store: Send + Sync + 'static {
    /// Returns a value and its version.
    fn get(&self, key: &StoreKey) -> StoreFuture<'_, Option<Versioned>>;

    /// Saves a value if the condition holds, and lets it live for `ttl` from now. Returns its new
    /// version, or `None` if the condition does not hold.
    fn put(
        &self,
        key: &StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> StoreFuture<'_, Option<Version>>;

    /// Removes a value if the condition holds. Returns whether there was one and it was removed.
    fn remove(&self, key: &StoreKey, when: Condition) -> StoreFuture<'_, bool>;

    /// Lets values live for `ttl` from now. Keys without a value are skipped; versions stay.
    fn touch(&self, keys: Vec<StoreKey>, ttl: Duration) -> StoreFuture<'_, ()>;

    /// Appends entries to a log, all or none, at positions that follow each other. The first entry of a
    /// log has position 1. Returns the position of the last new entry, or `None` if `at` is another
    /// position than the next one.
    fn append(
        &self,
        log: &StoreKey,
        at: AppendAt,
        entries: Vec<Bytes>,
        keep: Keep,
    ) -> StoreFuture<'_, Option<Position>>;

    /// Returns entries of a log behind the position `after`, in their order. A log that does not exist is
    /// empty.
    fn read(&self, log: &StoreKey, after: Position, limit: ReadLimit) -> StoreFuture<'_, LogSlice>;

    /// Sends a message to the present subscribers of a topic, on all instances. Messages of one sender
    /// arrive in order, each at most once; nothing is kept.
    fn publish(&self, topic: &StoreKey, message: Bytes) -> StoreFuture<'_, ()>;

    /// Subscribes to a topic: every message that is published after this has returned arrives, or
    /// [`TopicEvent::Interrupted`](crate::TopicEvent::Interrupted) in its place.
    fn subscribe(&self, topic: &StoreKey) -> StoreFuture<'_, Subscription>;

    /// Adds a job to a queue, where it stays for `ttl` unless it is completed.
    fn push(&self, queue: &StoreKey, job: Bytes, ttl: Duration) -> StoreFuture<'_, ()>;

    /// Claims the oldest job of a queue that nobody has claimed, and hides it from other claims for
    /// `hidden_for`. A job whose claim is neither extended nor completed in that time is offered again.
    fn claim(&self, queue: &StoreKey, hidden_for: Duration) -> StoreFuture<'_, Option<Claim>>;

    /// Hides a claimed job for `hidden_for` from now. Returns false if the job has expired, is completed,
    /// or was claimed again.
    fn extend(&self, claim: &Claim, hidden_for: Duration) -> StoreFuture<'_, bool>;

    /// Removes a claimed job. Returns false if the job has expired, is completed, or was claimed again.
    fn complete(&self, claim: Claim) -> StoreFuture<'_, bool>;
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn get(&self, key: &StoreKey) -> StoreFuture<'_, Option<Versioned>> {
        (**self).get(key)
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> StoreFuture<'_, Option<Version>> {
        (**self).put(key, value, when, ttl)
    }

    fn remove(&self, key: &StoreKey, when: Condition) -> StoreFuture<'_, bool> {
        (**self).remove(key, when)
    }

    fn touch(&self, keys: Vec<StoreKey>, ttl: Duration) -> StoreFuture<'_, ()> {
        (**self).touch(keys, ttl)
    }

    fn append(
        &self,
        log: &StoreKey,
        at: AppendAt,
        entries: Vec<Bytes>,
        keep: Keep,
    ) -> StoreFuture<'_, Option<Position>> {
        (**self).append(log, at, entries, keep)
    }

    fn read(&self, log: &StoreKey, after: Position, limit: ReadLimit) -> StoreFuture<'_, LogSlice> {
        (**self).read(log, after, limit)
    }

    fn publish(&self, topic: &StoreKey, message: Bytes) -> StoreFuture<'_, ()> {
        (**self).publish(topic, message)
    }

    fn subscribe(&self, topic: &StoreKey) -> StoreFuture<'_, Subscription> {
        (**self).subscribe(topic)
    }

    fn push(&self, queue: &StoreKey, job: Bytes, ttl: Duration) -> StoreFuture<'_, ()> {
        (**self).push(queue, job, ttl)
    }

    fn claim(&self, queue: &StoreKey, hidden_for: Duration) -> StoreFuture<'_, Option<Claim>> {
        (**self).claim(queue, hidden_for)
    }

    fn extend(&self, claim: &Claim, hidden_for: Duration) -> StoreFuture<'_, bool> {
        (**self).extend(claim, hidden_for)
    }

    fn complete(&self, claim: Claim) -> StoreFuture<'_, bool> {
        (**self).complete(claim)
    }
}
