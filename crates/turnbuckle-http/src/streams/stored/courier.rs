//! The courier: it writes the copies of the streams that this instance owns, behind what is sent.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use foldhash::HashMap;
use tokio::sync::Notify;
use tokio::time::Instant;
use turnbuckle_cluster::{Cluster, MessageKind, Received, Receiver};
use turnbuckle_store::StoreKey;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::text::Escaped;

use super::OpenRequests;
use super::followers::{FollowerSignal, Followers};
use super::owned::OwnedStream;
use super::stream_copy::StreamCopy;
use super::writer::{LogBounds, StreamEnd};
use crate::event::StreamName;
use crate::options::ReplayLimits;
use crate::streams::SessionStream;

mod task;

/// The time for which messages are collected before they are written, while nobody else reads the stream.
const COLLECT_TIME: Duration = Duration::from_millis(10);

/// The most bytes of all streams that are not written yet. Beyond it the oldest messages of the stream that
/// grows are not written: no other instance can resume that stream from before them.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// The part of a stream that its log keeps, in multiples of what its owner keeps: a client that reads it
/// elsewhere and slowly does not hold up the sender.
const LOG_FACTOR: usize = 4;

/// The number of entries and of bytes of a log besides its messages.
const EXTRA_ENTRIES: usize = 16;
const EXTRA_BYTES: usize = 64 << 10;

/// The number of the newest stream of this process. No two streams of one instance have the same number,
/// also not at two endpoints.
static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);

/// The first byte of the message that tells a follower of its stream.
const GREW: u8 = 0;
const TAKEN: u8 = 1;

/// The copies of the streams that one endpoint owns, and the clients that it sends streams of others to.
pub(crate) struct Courier {
    pub(super) cluster: Arc<Cluster>,
    pub(super) bounds: LogBounds,
    pub(super) stream_ttl: Duration,
    pub(super) followers: Followers,
    state: Mutex<CourierState>,
    /// Notified when a stream may be due earlier.
    wake: Arc<Notify>,
    /// Notified when the last stream was written to its end.
    idle: Notify,
}

#[derive(Default)]
struct CourierState {
    owned: HashMap<u64, OwnedStream>,
    /// The times at which streams are to be looked at.
    due: BTreeSet<(Instant, u64)>,
    /// The bytes that are not written yet.
    bytes: usize,
    /// True while a task writes.
    has_task: bool,
    is_stopping: bool,
}

impl CourierState {
    /// Updates a stream, and counts its bytes anew.
    fn change<T>(&mut self, number: u64, change: impl FnOnce(&mut OwnedStream) -> T) -> Option<T> {
        let owned = self.owned.get_mut(&number)?;
        self.bytes -= owned.writer.bytes();
        let changed = change(owned);
        self.bytes += owned.writer.bytes();
        Some(changed)
    }

    /// Looks at a stream at a time, or earlier if that was planned.
    fn plan(&mut self, number: u64, at: Instant) {
        let Some(owned) = self.owned.get_mut(&number) else {
            return;
        };
        if owned.is_busy || owned.due.is_some_and(|due| due <= at) {
            return;
        }
        if let Some(due) = owned.due.replace(at) {
            self.due.remove(&(due, number));
        }
        self.due.insert((at, number));
    }

    fn remove(&mut self, number: u64) -> Option<OwnedStream> {
        let owned = self.owned.remove(&number)?;
        self.bytes -= owned.writer.bytes();
        if let Some(due) = owned.due {
            self.due.remove(&(due, number));
        }
        Some(owned)
    }
}

impl Courier {
    /// Creates the courier of an endpoint.
    pub(crate) fn new(cluster: Arc<Cluster>, limits: &ReplayLimits) -> Arc<Self> {
        let scale = |limit: usize| limit.saturating_mul(LOG_FACTOR);
        let courier = Arc::new(Self {
            bounds: LogBounds {
                entries: scale(limits.max_stream_events).saturating_add(EXTRA_ENTRIES),
                bytes: scale(limits.max_stream_bytes).saturating_add(EXTRA_BYTES),
            },
            stream_ttl: limits.stream_ttl.max(Duration::from_secs(1)),
            followers: Followers::default(),
            state: Mutex::default(),
            wake: Arc::default(),
            idle: Notify::new(),
            cluster,
        });
        for kind in [MessageKind::StreamWanted, MessageKind::StreamGrew] {
            let receiver: Weak<Self> = Arc::downgrade(&courier);
            courier.cluster.add_receiver(kind, receiver);
        }
        courier
    }

    fn state(&self) -> MutexGuard<'_, CourierState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the copies of the streams of a session.
    pub(crate) fn copies_of(self: &Arc<Self>, session: &str) -> StreamCopies {
        StreamCopies {
            courier: self.clone(),
            session: session.into(),
        }
    }

    /// Returns the name of a new stream.
    pub(crate) fn next_stream_name(&self) -> StreamName {
        StreamName {
            changes: None,
            instance: Some(self.cluster.instance().clone()),
            number: LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1,
        }
    }

    fn insert(self: &Arc<Self>, number: u64, owned: OwnedStream) {
        let mut state = self.state();
        state.bytes += owned.writer.bytes();
        state.owned.insert(number, owned);
        state.plan(number, Instant::now() + COLLECT_TIME);
        let had_task = std::mem::replace(&mut state.has_task, true);
        drop(state);
        if had_task {
            self.wake.notify_one();
        } else {
            tokio::spawn(task::run(Arc::downgrade(self), self.wake.clone()));
        }
    }

    fn push(&self, number: u64, sequence: u64, message: &Bytes) {
        let mut state = self.state();
        let others = state.bytes;
        let is_followed = state.change(number, |owned| {
            let others = others - owned.writer.bytes();
            owned.writer.push(sequence, message);
            while others + owned.writer.bytes() > MAX_WAITING_BYTES && owned.writer.drop_oldest() {}
            owned.follower.is_some()
        });
        let wait = match is_followed {
            Some(true) => Duration::ZERO,
            Some(false) => COLLECT_TIME,
            None => return,
        };
        state.plan(number, Instant::now() + wait);
        drop(state);
        self.wake.notify_one();
    }

    fn end(&self, number: u64) {
        let mut state = self.state();
        let end = match state.is_stopping {
            true => StreamEnd::Aborted,
            false => StreamEnd::Clean,
        };
        let now = Instant::now();
        state.change(number, |owned| {
            owned.writer.end(end);
            owned.ended_at.get_or_insert(now);
        });
        state.plan(number, now);
        drop(state);
        self.wake.notify_one();
    }

    /// Lets requests whose stream ends from now on end with an error: this instance ends.
    pub(crate) fn begin_stop(&self) {
        self.state().is_stopping = true;
    }

    /// Waits until all streams are written to their end.
    pub(crate) async fn written(&self) {
        loop {
            let idle = self.idle.notified();
            if self.state().owned.is_empty() {
                return;
            }
            idle.await;
        }
    }

    /// Ends the streams of requests that still run, and waits until that is written. The caller bounds the
    /// time.
    pub(crate) async fn stop(&self) {
        self.begin_stop();
        let streams: Vec<_> = self
            .state()
            .owned
            .values()
            .map(|it| it.stream.clone())
            .collect();
        for stream in streams.iter().filter_map(Weak::upgrade) {
            stream.end();
        }
        self.written().await;
    }

    #[cfg(test)]
    pub(super) fn owned_count(&self) -> usize {
        self.state().owned.len()
    }

    #[cfg(test)]
    pub(super) fn waiting_bytes(&self) -> usize {
        self.state().bytes
    }

    /// Returns the key of the log of a stream.
    pub(super) fn key(session: &str, name: &StreamName) -> Option<StoreKey> {
        StoreKey::new(format!("stream/{session}/{name}")).ok()
    }

    /// Lets the newest connection of a stream be one at another instance.
    fn begin_following(&self, key: &str, follower: &Arc<str>) -> bool {
        let number = key
            .rsplit_once('.')
            .and_then(|(_, number)| number.parse().ok());
        let Some(number) = number else {
            return false;
        };
        let mut state = self.state();
        let found = state.owned.get_mut(&number);
        let Some(owned) = found.filter(|owned| owned.key.as_str() == key) else {
            return false;
        };
        let stream = owned.stream.clone();
        let before = owned.follower.replace(follower.clone());
        state.plan(number, Instant::now());
        drop(state);
        self.wake.notify_one();
        if let Some(before) = before.filter(|before| before != follower) {
            self.tell_follower(&before, TAKEN, key);
        }
        if let Some(stream) = stream.upgrade() {
            stream.close_connections();
        }
        true
    }

    fn end_follower(&self, number: u64) {
        let mut state = self.state();
        let Some(owned) = state.owned.get_mut(&number) else {
            return;
        };
        if let Some(follower) = owned.follower.take() {
            let key = owned.key.clone();
            drop(state);
            self.tell_follower(&follower, TAKEN, key.as_str());
        }
    }

    fn tell_follower(&self, follower: &Arc<str>, news: u8, key: &str) {
        let (cluster, follower) = (self.cluster.clone(), follower.clone());
        let body: Bytes = [&[news], key.as_bytes()].concat().into();
        tokio::spawn(async move {
            let kind = MessageKind::StreamGrew;
            if let Err(error) = cluster.notify(&follower, kind, body).await {
                // The follower looks by itself after a while.
                tracing::debug!(error = %Escaped(&error), "an instance was not told that a stream has grown");
            }
        });
    }
}

impl Receiver for Courier {
    fn receive(&self, message: &Received) -> bool {
        match (message.kind, &*message.body) {
            (MessageKind::StreamWanted, key) => {
                std::str::from_utf8(key).is_ok_and(|key| self.begin_following(key, &message.from))
            }
            (MessageKind::StreamGrew, [news @ (GREW | TAKEN), key @ ..]) => {
                let is_taken = *news == TAKEN;
                std::str::from_utf8(key).is_ok_and(|key| self.followers.signal(key, is_taken))
            }
            _ => false,
        }
    }
}

debug_fields!(Courier { stream_ttl });

/// The copies of the streams of one session.
#[derive(Debug, Clone)]
pub(crate) struct StreamCopies {
    pub(super) courier: Arc<Courier>,
    pub(super) session: Arc<str>,
}

impl StreamCopies {
    /// Returns the name of a new stream of this instance.
    pub(crate) fn next_stream_name(&self) -> StreamName {
        self.courier.next_stream_name()
    }

    /// Copies a stream with these requests, from its first event on.
    pub(crate) fn copy(&self, stream: &Arc<SessionStream>, open: OpenRequests) {
        let name = stream.name();
        if let Some(key) = Courier::key(&self.session, name) {
            let owned = OwnedStream::new(key, stream, open, self.courier.bounds);
            self.courier.insert(name.number, owned);
            stream.copy_to(Box::new(CourierCopy {
                courier: self.courier.clone(),
                number: name.number,
            }));
        }
    }

    pub(super) fn register_follower(&self, key: &StoreKey) -> Arc<FollowerSignal> {
        self.courier.followers.register(key)
    }
}

/// The copy of one stream, which its courier writes.
#[derive(Debug)]
struct CourierCopy {
    courier: Arc<Courier>,
    number: u64,
}

impl StreamCopy for CourierCopy {
    fn push(&self, sequence: u64, message: &Bytes) {
        self.courier.push(self.number, sequence, message);
    }

    fn end(&self) {
        self.courier.end(self.number);
    }

    fn end_follower(&self) {
        self.courier.end_follower(self.number);
    }
}

impl Drop for CourierCopy {
    fn drop(&mut self) {
        self.end();
    }
}
