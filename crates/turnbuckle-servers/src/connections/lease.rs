//! The right of one request to use a connection.

use std::sync::Arc;

use turnbuckle_client::Client;
use turnbuckle_types::LoggingLevel;

use crate::connections::connection::Connection;

/// The right of one request to use a connection, which is open meanwhile.
pub(crate) struct Lease {
    connection: Arc<Connection>,
    /// Gives the connection back when it is dropped.
    _release: Option<Release>,
}

/// A value that gives a connection back when it is dropped.
pub(crate) type Release = Box<dyn Send + Sync>;

impl Lease {
    /// Begins the use of a connection. `release` is dropped at its end.
    pub(crate) fn new(connection: Arc<Connection>, release: Option<Release>) -> Self {
        connection.begin_use();
        Self {
            connection,
            _release: release,
        }
    }

    /// Returns the client of the connection.
    pub(crate) fn client(&self) -> &Client {
        &self.connection.client
    }

    /// Sets the log level of the session with a legacy server, unless it is set.
    pub(crate) async fn set_log_level(&self, level: LoggingLevel) {
        self.connection.set_log_level(level).await;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Before the connection is given back.
        self.connection.end_use();
    }
}
