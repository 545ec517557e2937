//! Connections that are kept for the next query.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::{Client, Error};
use turnbuckle_postgres::ConnectionTask;

/// The time after which a connection that nobody uses is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The time for cleaning a connection.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to the database.
pub(super) type Connection = (Client, ConnectionTask);

/// Connections that wait for a query. What a query has left in its session is removed before.
#[derive(Clone, Default)]
pub(super) struct IdleConnections(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    connections: Vec<(Connection, Instant)>,
    /// True while a task closes those that wait too long.
    is_watched: bool,
}

impl IdleConnections {
    /// Takes the connection that was used last.
    pub(super) fn take(&self) -> Option<Connection> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((connection, _)) = waiting.connections.pop() {
            if !connection.0.is_closed() {
                return Some(connection);
            }
        }
        None
    }

    /// Cleans a connection and keeps it, if there are fewer than `max`. It is closed if it cannot be cleaned.
    pub(super) fn give_back(&self, connection: Connection, max: usize) {
        let idle = self.clone();
        tokio::spawn(async move {
            if let Ok(Ok(())) = timeout(CLEANUP_TIMEOUT, clean(&connection.0)).await {
                idle.keep(connection, max);
            }
        });
    }

    fn keep(&self, connection: Connection, max: usize) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.connections.len() >= max {
            return;
        }
        waiting.connections.push((connection, Instant::now()));
        if !waiting.is_watched {
            waiting.is_watched = true;
            tokio::spawn(self.clone().watch());
        }
    }

    /// Closes connections that wait too long, until none is left.
    async fn watch(self) {
        loop {
            sleep(IDLE_TIMEOUT).await;
            let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Ends the transaction, and removes settings, locks, temporary tables and whatever else a session can have.
async fn clean(client: &Client) -> Result<(), Error> {
    client.batch_execute("ROLLBACK").await?;
    client.batch_execute("DISCARD ALL").await
}
