//! The connections of a store for its operations.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use turnbuckle_store::{StoreError, StoreErrorKind};

use crate::connection::{Connection, Settings};
use crate::database::Failure;
use crate::error::{ends_connection, is_retryable, operation_error};

/// The most attempts of an operation that the database takes back.
const MAX_ATTEMPTS: u32 = 4;

/// The time, beyond that of a statement, in which a connection answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// The shortest and the longest time after an attempt to connect that failed.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// Connections that are opened when they are needed, and again after they were lost.
pub(crate) struct Pool {
    pub(crate) settings: Settings,
    /// Wakes the task that removes what has expired.
    pub(crate) used: Notify,
    first: Slot,
    more: Vec<Slot>,
    backoff: Mutex<Option<Backoff>>,
}

/// A place for a connection.
#[derive(Default)]
struct Slot {
    /// The operations that use it.
    running: AtomicUsize,
    /// Held by the operation that connects.
    connecting: tokio::sync::Mutex<()>,
    connection: Mutex<Option<Arc<Connection>>>,
}

/// A pause after an attempt to connect that failed.
struct Backoff {
    until: Instant,
    delay: Duration,
    kind: StoreErrorKind,
    text: String,
}

impl Pool {
    pub(crate) fn new(settings: Settings) -> Self {
        let more = (1..settings.options.max_connections).map(|_| Slot::default());
        Self {
            first: Slot::default(),
            more: more.collect(),
            settings,
            used: Notify::new(),
            backoff: Mutex::default(),
        }
    }

    /// Opens the first connection.
    pub(crate) async fn connect(&self) -> Result<(), StoreError> {
        self.connection(&self.first).await.map(drop)
    }

    /// Runs an operation on the connection that has the fewest. An operation that the database takes back
    /// because of others is repeated.
    pub(crate) async fn run<T, F>(
        &self,
        operation: impl Fn(Arc<Connection>) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let fewest = self.slots().min_by_key(|slot| slot.running());
        let slot = fewest.unwrap_or(&self.first);
        slot.running.fetch_add(1, Ordering::Relaxed);
        let _running = Running(slot);
        let timeout = self.settings.options.statement_timeout + ANSWER_TIMEOUT;
        let mut attempt = 1;
        loop {
            let connection = self.connection(slot).await?;
            let result = tokio::time::timeout(timeout, operation(connection.clone())).await;
            let error = match result {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(Failure::Database(error)))
                    if attempt < MAX_ATTEMPTS && is_retryable(&error) =>
                {
                    attempt += 1;
                    continue;
                }
                Ok(Err(Failure::Database(error)))
                    if error.is_closed() && connection.was_closed() =>
                {
                    timed_out(timeout)
                }
                Ok(Err(Failure::Database(error))) => operation_error(&error),
                Ok(Err(Failure::Changed)) => StoreError::new(
                    StoreErrorKind::Corrupt,
                    "the tables of the store were changed by another program: restore them, or drop the schema",
                ),
                Err(_) => {
                    connection.close();
                    timed_out(timeout)
                }
            };
            if ends_connection(&error) || connection.was_closed() {
                slot.forget(&connection);
            }
            return Err(error);
        }
    }

    /// Returns the connection of a slot. If there is none and none can be made, that of another slot.
    async fn connection(&self, slot: &Slot) -> Result<Arc<Connection>, StoreError> {
        if let Some(connection) = slot.connection() {
            return Ok(connection);
        }
        let _connecting = slot.connecting.lock().await;
        if let Some(connection) = slot.connection() {
            return Ok(connection);
        }
        let opened = match self.backoff_error() {
            Some(error) => Err(error),
            None => Connection::open(&self.settings).await,
        };
        match opened {
            Ok(connection) => {
                self.end_backoff();
                let connection = Arc::new(connection);
                *slot.lock() = Some(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                self.back_off(&error);
                self.slots().find_map(Slot::connection).ok_or(error)
            }
        }
    }

    /// Lets the next operation connect at once: the database was reached just now.
    pub(crate) fn end_backoff(&self) {
        *self.lock_backoff() = None;
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// Returns the error of the last attempt to connect, if it was just now.
    fn backoff_error(&self) -> Option<StoreError> {
        let backoff = self.lock_backoff();
        let failed = backoff.as_ref().filter(|it| Instant::now() < it.until)?;
        Some(StoreError::new(failed.kind, failed.text.clone()))
    }

    fn back_off(&self, error: &StoreError) {
        let mut backoff = self.lock_backoff();
        let now = Instant::now();
        let delay = match &*backoff {
            Some(last) if now < last.until => return,
            Some(last) => (last.delay * 2).min(MAX_BACKOFF),
            None => MIN_BACKOFF,
        };
        *backoff = Some(Backoff {
            until: now + delay,
            delay,
            kind: error.kind(),
            text: error.to_string(),
        });
    }

    fn lock_backoff(&self) -> MutexGuard<'_, Option<Backoff>> {
        self.backoff.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn timed_out(timeout: Duration) -> StoreError {
    let text = format!(
        "the database did not answer within {timeout:?}, and the connection was closed: see whether it is \
         overloaded or gone"
    );
    StoreError::new(StoreErrorKind::TimedOut, text)
}

impl Slot {
    fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Returns the connection, unless it is closed.
    fn connection(&self) -> Option<Arc<Connection>> {
        self.lock().clone().filter(|it| !it.is_closed())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Connection>>> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the next operation open a connection, unless that has happened already.
    fn forget(&self, connection: &Arc<Connection>) {
        let mut place = self.lock();
        if place.as_ref().is_some_and(|it| Arc::ptr_eq(it, connection)) {
            *place = None;
        }
    }
}

/// An operation that uses a slot, until it is dropped.
struct Running<'s>(&'s Slot);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}
