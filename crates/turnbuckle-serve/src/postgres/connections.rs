//! Connections to the database: those that queries use, and those that are kept for the next query.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::{Client, Error};
use turnbuckle::prelude::*;
use turnbuckle_postgres::ConnectionTask;

/// The time after which a connection that nobody uses is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The time for cleaning a connection.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

/// The time in which a statement ends that is cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(60);

/// A connection to the database.
pub(super) struct Connection {
    pub(super) client: Client,
    task: ConnectionTask,
    /// True if the client has looked up a type: cleaning a session removes the statements that it keeps for that.
    has_looked_up_types: AtomicBool,
    /// True if a statement may run whose rows nobody reads.
    is_unfinished: AtomicBool,
}

impl Connection {
    pub(super) fn new(client: Client, task: ConnectionTask) -> Self {
        Self {
            client,
            task,
            has_looked_up_types: AtomicBool::new(false),
            is_unfinished: AtomicBool::new(false),
        }
    }

    /// Notes that the client has looked up a type.
    pub(super) fn set_looked_up_types(&self) {
        self.has_looked_up_types.store(true, Ordering::Relaxed);
    }

    /// Notes that a statement may run whose rows nobody reads.
    pub(super) fn set_unfinished(&self) {
        self.is_unfinished.store(true, Ordering::Relaxed);
    }

    /// Ends the statement that runs.
    async fn end_statement(&self) {
        // If the database cannot be reached, the statement ends by its own time limit.
        self.task.cancel_statement().await;
        // It is answered behind the statement.
        let _ = self.client.batch_execute("ROLLBACK").await;
    }
}

/// The settings of each session, for all queries.
#[derive(Clone)]
pub(super) struct SessionSettings(Arc<str>);

impl SessionSettings {
    /// Creates the settings of sessions that only read, and whose statements end in time.
    pub(super) fn new(statement_timeout: Duration) -> Self {
        let milliseconds = statement_timeout.as_millis();
        let settings = format!(
            "SET statement_timeout = {milliseconds}; SET default_transaction_read_only = on"
        );
        Self(settings.into())
    }

    pub(super) async fn set(&self, client: &Client) -> Result<(), Error> {
        client.batch_execute(&self.0).await
    }
}

/// The connections of a server: at most `max` that queries use, and as many that wait for a query. What a query has left in its
/// session is removed before the next one.
#[derive(Clone)]
pub(super) struct Connections {
    permits: Arc<Semaphore>,
    waiting: Arc<Mutex<Waiting>>,
    max: usize,
    pub(super) settings: SessionSettings,
}

/// A task that cleans a connection; it returns none that cannot be cleaned.
type Cleaning = JoinHandle<Option<Arc<Connection>>>;

#[derive(Default)]
struct Waiting {
    /// The connections in the order in which they were given back.
    connections: VecDeque<(Cleaning, Instant)>,
    /// True while a task closes those that wait too long.
    is_watched: bool,
}

/// A connection that a query uses. If it is dropped before its statements are answered, it cancels the statement that
/// runs, and counts until that has ended.
pub(super) struct Lease {
    connections: Connections,
    connection: Arc<Connection>,
    permit: Option<OwnedSemaphorePermit>,
    is_answered: bool,
}

impl Lease {
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Notes that all statements are answered.
    pub(super) fn set_answered(&mut self) {
        self.is_answered = true;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (connection, permit) = (self.connection.clone(), self.permit.take());
        if self.is_answered && !connection.is_unfinished.load(Ordering::Relaxed) {
            self.connections.give_back(connection);
        } else if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let _permit = permit;
                let _ = timeout(CANCEL_TIMEOUT, connection.end_statement()).await;
            });
        }
    }
}

impl Connections {
    /// Creates a store of at most `max` connections, whose sessions have these settings.
    pub(super) fn new(max: usize, settings: SessionSettings) -> Self {
        let max = max.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(max)),
            waiting: Arc::default(),
            max,
            settings,
        }
    }

    /// Takes a connection, or else opens one, once there are not too many.
    pub(super) async fn take(
        &self,
        open: impl AsyncFnOnce() -> Result<Connection>,
    ) -> Result<Lease> {
        let permit = self.permits.clone().acquire_owned().await?;
        let connection = match self.take_idle().await {
            Some(connection) => connection,
            None => Arc::new(open().await?),
        };
        Ok(Lease {
            connections: self.clone(),
            connection,
            permit: Some(permit),
            is_answered: false,
        })
    }

    /// Takes a connection that waits, once it is clean: a new one would take far longer.
    async fn take_idle(&self) -> Option<Arc<Connection>> {
        while let Some(cleaning) = self.next() {
            let connection = cleaning.await.ok().flatten();
            if let Some(connection) = connection.filter(|it| !it.client.is_closed()) {
                return Some(connection);
            }
        }
        None
    }

    /// Returns the clean connection that was used last, so that the others may be closed, or else the one that is
    /// likely to be clean first.
    fn next(&self) -> Option<Cleaning> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_clean = |(cleaning, _): &(Cleaning, Instant)| cleaning.is_finished();
        let last = waiting.connections.iter().rposition(is_clean);
        let (cleaning, _) = waiting.connections.remove(last.unwrap_or(0))?;
        Some(cleaning)
    }

    /// Cleans a connection and keeps it, if there are not too many. It is closed if it cannot be cleaned.
    fn give_back(&self, connection: Arc<Connection>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let has_looked_up_types = connection.has_looked_up_types.load(Ordering::Relaxed);
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if waiting.connections.len() >= self.max || has_looked_up_types {
            return;
        }
        let settings = self.settings.clone();
        let cleaning = runtime.spawn(async move {
            let cleaned = clean(&connection.client, &settings);
            let cleaned = timeout(CLEANUP_TIMEOUT, cleaned).await;
            matches!(cleaned, Ok(Ok(()))).then_some(connection)
        });
        waiting.connections.push_back((cleaning, Instant::now()));
        if !waiting.is_watched {
            waiting.is_watched = true;
            runtime.spawn(self.clone().watch());
        }
    }

    /// Closes connections that wait too long, until none is left.
    async fn watch(self) {
        loop {
            sleep(IDLE_TIMEOUT).await;
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting
                .connections
                .retain(|(_, since)| since.elapsed() < IDLE_TIMEOUT);
            if waiting.connections.is_empty() {
                waiting.is_watched = false;
                return;
            }
        }
    }
}

/// Ends the transaction, and removes settings, locks, temporary tables and whatever else a session can have, but for
/// the settings of each.
async fn clean(client: &Client, settings: &SessionSettings) -> Result<(), Error> {
    // All are sent at once; in one text, they would be one transaction, in which the second cannot run.
    tokio::try_join!(
        biased;
        client.batch_execute("ROLLBACK"),
        client.batch_execute("DISCARD ALL"),
        settings.set(client),
    )?;
    Ok(())
}
