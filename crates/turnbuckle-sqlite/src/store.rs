//! The store, whose operations run in a thread of its own.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;
use turnbuckle_store::bounds::{
    check_append, check_job, check_message, check_touch, check_ttl, check_value, clamp_read,
};
use turnbuckle_store::{
    AppendAt, Claim, Condition, Keep, LogSlice, Position, ReadLimit, Store, StoreError,
    StoreErrorKind, StoreFuture, StoreKey, Subscription, TopicHub, Version, Versioned,
};

use crate::database::Database;
use crate::file::StoreFile;
use crate::options::{SqliteStoreOptions, to_millis};
use crate::worker::{Job, Worker};

/// The most operations that wait for the thread.
const MAX_WAITING: usize = 256;

/// A store in one SQLite file, for servers of one machine. Clones share one thread and one connection.
///
/// Several processes may open the file. The file belongs to the user of the server alone: mode 0600. If it
/// is removed or replaced while the store is open, operations fail until there is a file again, which is
/// then used; the store does not create an empty one by itself. Times to live follow the clock of the
/// machine, which the processes share.
#[derive(Clone)]
pub struct SqliteStore {
    jobs: SyncSender<Job>,
    path: Arc<Path>,
}

impl SqliteStore {
    /// Opens the store in a file, and creates the file if there is none. Blocks while it does so.
    ///
    /// # Errors
    /// If the file cannot be created or read, is not a file of this user alone, no store, or a store of a
    /// newer release, or if another process locks it for longer than
    /// [`SqliteStoreOptions::busy_timeout`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteStoreOptions::default())
    }

    /// Opens the store in a file with settings, as [`open`](Self::open) does.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        path: impl AsRef<Path>,
        options: SqliteStoreOptions,
    ) -> Result<Self, StoreError> {
        let unavailable = |text: &str| StoreError::new(StoreErrorKind::Unavailable, text);
        let mut sender = [0; 8];
        getrandom::fill(&mut sender)
            .map_err(|_| unavailable("the operating system has no randomness"))?;
        let file = StoreFile::find(path.as_ref(), true)?;
        let path = file.path().into();
        let hub = Arc::new(TopicHub::default());
        let worker = Worker::new(file, options, hub, i64::from_ne_bytes(sender))?;
        let (jobs, receiver) = sync_channel(MAX_WAITING);
        thread::Builder::new()
            .name("turnbuckle-sqlite".to_owned())
            .spawn(move || worker.work(&receiver))
            .map_err(|error| {
                unavailable("a thread for the store cannot start").with_source(error)
            })?;
        Ok(Self { jobs, path })
    }

    /// Does a piece of work in the thread.
    fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Worker) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        Box::pin(async move {
            let (reply, result) = oneshot::channel();
            let job: Job = Box::new(move |worker| {
                // Nobody waits any more for an operation that was given up before it began.
                if !reply.is_closed() {
                    let _ = reply.send(work(worker));
                }
            });
            self.jobs.try_send(job).map_err(|error| match error {
                TrySendError::Full(_) => StoreError::new(
                    StoreErrorKind::Busy,
                    format!(
                        "{MAX_WAITING} operations wait for {} already: try again later",
                        self.path.display()
                    ),
                ),
                TrySendError::Disconnected(_) => self.stopped(),
            })?;
            result.await.map_err(|_| self.stopped())?
        })
    }

    /// Runs SQL in the thread.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        operation: impl Fn(&mut Database, i64) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        self.call(|worker| worker.run(operation))
    }

    /// Runs SQL in the thread, unless the arguments are outside of the bounds.
    fn run_checked<T: Send + 'static>(
        &self,
        check: Result<(), StoreError>,
        operation: impl Fn(&mut Database, i64) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        match check {
            Ok(()) => self.run(operation),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    fn stopped(&self) -> StoreError {
        let text = format!(
            "the thread of {} has ended: open the store again",
            self.path.display()
        );
        StoreError::new(StoreErrorKind::Unavailable, text)
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Store for SqliteStore {
    fn get(&self, key: &StoreKey) -> StoreFuture<'_, Option<Versioned>> {
        let key = key.clone();
        self.run(move |database, now| database.get(&key, now))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> StoreFuture<'_, Option<Version>> {
        let check = check_value(&value).and_then(|()| check_ttl(ttl));
        let (key, ttl) = (key.clone(), to_millis(ttl));
        self.run_checked(check, move |database, now| {
            database.put(&key, &value, when, now, now.saturating_add(ttl))
        })
    }

    fn remove(&self, key: &StoreKey, when: Condition) -> StoreFuture<'_, bool> {
        let key = key.clone();
        self.run(move |database, now| database.remove(&key, when, now))
    }

    fn touch(&self, keys: Vec<StoreKey>, ttl: Duration) -> StoreFuture<'_, ()> {
        let check = check_touch(keys.len()).and_then(|()| check_ttl(ttl));
        let ttl = to_millis(ttl);
        self.run_checked(check, move |database, now| {
            database.touch(&keys, now, now.saturating_add(ttl))
        })
    }

    fn append(
        &self,
        log: &StoreKey,
        at: AppendAt,
        entries: Vec<Bytes>,
        keep: Keep,
    ) -> StoreFuture<'_, Option<Position>> {
        let check = check_append(&entries, &keep);
        let (log, ttl) = (log.clone(), to_millis(keep.ttl));
        self.run_checked(check, move |database, now| {
            database.append(
                &log,
                at,
                &entries,
                keep.entries,
                now,
                now.saturating_add(ttl),
            )
        })
    }

    fn read(&self, log: &StoreKey, after: Position, limit: ReadLimit) -> StoreFuture<'_, LogSlice> {
        let (log, limit) = (log.clone(), clamp_read(limit));
        self.run(move |database, now| database.read(&log, after, limit, now))
    }

    fn publish(&self, topic: &StoreKey, message: Bytes) -> StoreFuture<'_, ()> {
        let topic = topic.clone();
        self.call(move |worker| {
            check_message(&message)?;
            worker.publish(&topic, &message)
        })
    }

    fn subscribe(&self, topic: &StoreKey) -> StoreFuture<'_, Subscription> {
        let topic = topic.clone();
        self.call(move |worker| worker.subscribe(&topic))
    }

    fn push(&self, queue: &StoreKey, job: Bytes, ttl: Duration) -> StoreFuture<'_, ()> {
        let check = check_job(&job).and_then(|()| check_ttl(ttl));
        let (queue, ttl) = (queue.clone(), to_millis(ttl));
        self.run_checked(check, move |database, now| {
            database.push(&queue, &job, now.saturating_add(ttl))
        })
    }

    fn claim(&self, queue: &StoreKey, hidden_for: Duration) -> StoreFuture<'_, Option<Claim>> {
        let (queue, hidden) = (queue.clone(), to_millis(hidden_for));
        self.run_checked(check_ttl(hidden_for), move |database, now| {
            database.claim(&queue, now, now.saturating_add(hidden))
        })
    }

    fn extend(&self, claim: &Claim, hidden_for: Duration) -> StoreFuture<'_, bool> {
        let (claim, hidden) = (claim.clone(), to_millis(hidden_for));
        self.run_checked(check_ttl(hidden_for), move |database, now| {
            database.extend(&claim, now, now.saturating_add(hidden))
        })
    }

    fn complete(&self, claim: Claim) -> StoreFuture<'_, bool> {
        self.run(move |database, now| database.complete(&claim, now))
    }
}

#[cfg(test)]
mod tests;
