//! The thread in which the SQL of a store runs.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use turnbuckle_store::{StoreError, StoreKey, Subscription, TopicHub};

use crate::database::Database;
use crate::file::StoreFile;
use crate::options::{SqliteStoreOptions, to_millis};
use crate::schema::{connect, is_full, to_store_error};

/// The time between two looks for messages of other processes, while somebody subscribes.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The time for which messages are kept for other processes.
const MESSAGE_TTL: Duration = Duration::from_secs(10);

/// The shortest and the longest time between two clean-ups.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(1);
const MAX_CLEANUP_INTERVAL: Duration = Duration::from_secs(60);

/// A piece of work for the thread.
pub(crate) type Job = Box<dyn FnOnce(&mut Worker) + Send>;

/// The state of the thread.
pub(crate) struct Worker {
    options: SqliteStoreOptions,
    file: StoreFile,
    /// `None` while the file is gone.
    database: Option<Database>,
    hub: Arc<TopicHub>,
    /// The number that tells this store from others as a sender.
    sender: i64,
    /// The newest message that was delivered.
    last_message: i64,
    data_version: i64,
    next_poll: Instant,
    next_cleanup: i64,
}

impl Worker {
    pub(crate) fn new(
        file: StoreFile,
        options: SqliteStoreOptions,
        hub: Arc<TopicHub>,
        sender: i64,
    ) -> Result<Self, StoreError> {
        let connection = connect(file.path(), &options)?;
        Ok(Self {
            options,
            file,
            database: Some(Database::new(connection)),
            hub,
            sender,
            last_message: 0,
            data_version: 0,
            next_poll: Instant::now(),
            next_cleanup: 0,
        })
    }

    /// Does jobs, delivers messages and removes what has expired, until the store is dropped.
    pub(crate) fn work(mut self, jobs: &Receiver<Job>) {
        loop {
            match jobs.recv_timeout(self.idle_time()) {
                Ok(job) => job(&mut self),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // Errors are those of the next operation, too.
            if self.hub.has_subscribers() && self.next_poll <= Instant::now() {
                let _ = self.poll_messages();
            }
            if self.next_cleanup <= self.options.clock.now() {
                let _ = self.clean_up();
            }
        }
    }

    fn idle_time(&self) -> Duration {
        let until = self.next_cleanup - self.options.clock.now();
        let until = Duration::from_millis(until.max(0).unsigned_abs());
        match self.hub.has_subscribers() {
            true => until.min(self.next_poll.saturating_duration_since(Instant::now())),
            false => until,
        }
    }

    /// Runs an operation, with the present time. If there is no room, what has expired is removed and the
    /// operation is repeated.
    pub(crate) fn run<T>(
        &mut self,
        operation: impl Fn(&mut Database, i64) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let now = self.options.clock.now();
        let database = self.database()?;
        let mut result = operation(database, now);
        if result.as_ref().is_err_and(is_full) {
            while database
                .remove_expired(now)
                .is_ok_and(|removed| removed > 0)
            {}
            result = operation(database, now);
        }
        let soon = now.saturating_add(to_millis(CLEANUP_INTERVAL));
        self.next_cleanup = self.next_cleanup.min(soon);
        result.map_err(|error| to_store_error(self.file.path(), error))
    }

    pub(crate) fn publish(&mut self, topic: &StoreKey, message: &Bytes) -> Result<(), StoreError> {
        let (sender, ttl) = (self.sender, to_millis(MESSAGE_TTL));
        self.run(|database, now| database.publish(topic, message, sender, now + ttl))?;
        self.hub.deliver(topic, message);
        Ok(())
    }

    pub(crate) fn subscribe(&mut self, topic: &StoreKey) -> Result<Subscription, StoreError> {
        // Messages of before this are for earlier subscribers, if there are any.
        if self.hub.has_subscribers() {
            self.poll_messages()?;
        } else {
            self.last_message = self.run(|database, _| database.last_message())?;
        }
        self.hub.subscribe(topic)
    }

    /// Delivers the messages of other stores of this file.
    fn poll_messages(&mut self) -> Result<(), StoreError> {
        self.next_poll = Instant::now() + POLL_INTERVAL;
        let version = self.run(|database, _| database.data_version())?;
        if version == self.data_version {
            return Ok(());
        }
        loop {
            let after = self.last_message;
            let (messages, last) =
                self.run(|database, _| Ok((database.messages(after)?, database.last_message()?)))?;
            let next = messages.first().map_or(last + 1, |message| message.id);
            if next > after + 1 {
                // Some expired before they were read here.
                self.hub.interrupt();
                self.last_message = next - 1;
            }
            for message in &messages {
                self.last_message = message.id;
                if message.sender != self.sender {
                    self.hub.deliver(&message.topic, &message.bytes);
                }
            }
            if messages.is_empty() {
                self.data_version = version;
                return Ok(());
            }
        }
    }

    /// Removes rows that have expired, and finds the time of the next clean-up.
    fn clean_up(&mut self) -> Result<(), StoreError> {
        let now = self.options.clock.now();
        let in_time = |time| now.saturating_add(to_millis(time));
        self.next_cleanup = in_time(CLEANUP_INTERVAL);
        if self.database.is_none() {
            return Ok(());
        }
        let next = self.run(|database, now| match database.next_expiry()? {
            Some(next) if next <= now => {
                let removed = database.remove_expired(now)?;
                Ok(if removed > 0 { Some(now) } else { None })
            }
            next => Ok(next),
        })?;
        let latest = in_time(MAX_CLEANUP_INTERVAL);
        self.next_cleanup = next.unwrap_or(latest).min(latest);
        Ok(())
    }

    /// Returns the tables. Opens the file again if it was replaced.
    fn database(&mut self) -> Result<&mut Database, StoreError> {
        if self.database.is_some() && self.file.is_replaced() {
            tracing::warn!(target: "turnbuckle", "the file of the store was removed or replaced");
            self.database = None;
            self.hub.interrupt();
        }
        match &mut self.database {
            Some(database) => Ok(database),
            closed => {
                let file = StoreFile::find(self.file.path(), false)?;
                let database = Database::new(connect(file.path(), &self.options)?);
                let last = database.last_message();
                self.last_message = last.map_err(|error| to_store_error(file.path(), error))?;
                self.data_version = 0;
                self.file = file;
                Ok(closed.insert(database))
            }
        }
    }
}
