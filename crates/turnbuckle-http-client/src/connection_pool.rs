//! Idle connections between requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::connection::{Connection, Origin};

/// The idle connections of one client.
pub(crate) struct ConnectionPool {
    /// Connections that are kept. One more replaces the one that has been idle longest.
    max_idle_connections: usize,
    /// The time that a connection is kept.
    idle_connection_timeout: Duration,
    idle: Mutex<IdleConnections>,
}

#[derive(Default)]
struct IdleConnections {
    /// The connections, with the times since when they are idle, in that order.
    connections: Vec<(Instant, Box<Connection>)>,
    /// True if the task that removes expired connections runs.
    is_swept: bool,
}

impl ConnectionPool {
    pub(crate) fn new(max_idle_connections: usize, idle_connection_timeout: Duration) -> Self {
        Self {
            max_idle_connections,
            idle_connection_timeout,
            idle: Mutex::default(),
        }
    }

    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the connection to `origin` that was used last. The server may have closed it.
    pub(crate) fn take(&self, origin: &Origin) -> Option<Box<Connection>> {
        let (since, connection) = {
            let mut idle = self.idle();
            let connections = &mut idle.connections;
            let index = connections
                .iter()
                .rposition(|(_, connection)| connection.leads_to(origin));
            connections.remove(index?)
        };
        (since.elapsed() < self.idle_connection_timeout).then_some(connection)
    }

    /// Keeps a connection for another request.
    pub(crate) fn put(self: &Arc<Self>, connection: Box<Connection>) {
        let (Ok(runtime), 1..) = (Handle::try_current(), self.max_idle_connections) else {
            return;
        };
        let mut idle = self.idle();
        if idle.connections.len() >= self.max_idle_connections {
            idle.connections.remove(0);
        }
        idle.connections.push((Instant::now(), connection));
        let was_swept = std::mem::replace(&mut idle.is_swept, true);
        // A runtime that shuts down drops the sweeper at once, and that locks the pool.
        drop(idle);
        if !was_swept {
            runtime.spawn(Sweeper(Arc::downgrade(self)).run(self.idle_connection_timeout));
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.idle().connections.len()
    }
}

/// The task that closes connections after their time, while there are any.
struct Sweeper(Weak<ConnectionPool>);

impl Sweeper {
    async fn run(mut self, timeout: Duration) {
        loop {
            tokio::time::sleep(timeout).await;
            let Some(pool) = self.0.upgrade() else {
                return;
            };
            let mut idle = pool.idle();
            idle.connections
                .retain(|(since, _)| since.elapsed() < timeout);
            if idle.connections.is_empty() {
                idle.is_swept = false;
                self.0 = Weak::new();
                return;
            }
        }
    }
}

/// Allows another sweeper when the runtime drops this one before it is done.
impl Drop for Sweeper {
    fn drop(&mut self) {
        if let Some(pool) = self.0.upgrade() {
            pool.idle().is_swept = false;
        }
    }
}
