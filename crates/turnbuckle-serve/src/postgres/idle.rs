//! Connections that are kept for the next query.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::{Client, Error};
use turnbuckle_postgres::ConnectionTask;

/// The time after which a connection that nobody uses is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The time for cleaning a connection.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to the database.
pub(super) struct Connection {
    pub(super) client: Client,
    _task: ConnectionTask,
    /// True if the client has looked up a type: cleaning a session removes the statements that it keeps for that.
    pub(super) has_looked_up_types: bool,
}

impl Connection {
    pub(super) fn new(client: Client, task: ConnectionTask) -> Self {
        Self {
            client,
            _task: task,
            has_looked_up_types: false,
        }
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

/// Connections that wait for a query. What a query has left in its session is removed before.
#[derive(Clone)]
pub(super) struct IdleConnections {
    waiting: Arc<Mutex<Waiting>>,
    max: usize,
    pub(super) settings: SessionSettings,
}

/// A task that cleans a connection; it returns none that cannot be cleaned.
type Cleaning = JoinHandle<Option<Connection>>;

#[derive(Default)]
struct Waiting {
    /// The connections in the order in which they were given back.
    connections: VecDeque<(Cleaning, Instant)>,
    /// True while a task closes those that wait too long.
    is_watched: bool,
}

impl IdleConnections {
    /// Creates a store of at most `max` connections, whose sessions have these settings.
    pub(super) fn new(max: usize, settings: SessionSettings) -> Self {
        Self {
            waiting: Arc::default(),
            max,
            settings,
        }
    }

    /// Takes a connection, once it is clean: a new one would take far longer.
    pub(super) async fn take(&self) -> Option<Connection> {
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
    pub(super) fn give_back(&self, connection: Connection) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.connections.len() >= self.max || connection.has_looked_up_types {
            return;
        }
        let settings = self.settings.clone();
        let cleaning = tokio::spawn(async move {
            let cleaned = clean(&connection.client, &settings);
            let cleaned = timeout(CLEANUP_TIMEOUT, cleaned).await;
            matches!(cleaned, Ok(Ok(()))).then_some(connection)
        });
        waiting.connections.push_back((cleaning, Instant::now()));
        if !waiting.is_watched {
            waiting.is_watched = true;
            tokio::spawn(self.clone().watch());
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
