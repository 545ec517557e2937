//! Connections without a store. Internal: for other crates of the workspace, and may change in any release.

use std::fmt;

use tokio::sync::OnceCell;
use tokio_postgres::{CancelToken, Client, Config};
use turnbuckle_store::StoreError;

use crate::address;
use crate::connection::{DriverTask, Settings};
use crate::options::PostgresStoreOptions;
use crate::tls::{self, Connector};

/// The task that drives a connection. Dropping it closes the connection.
pub struct ConnectionTask {
    driver: DriverTask,
    cancel_token: CancelToken,
    connector: Connector,
}

impl ConnectionTask {
    /// Asks the database to end the statement that runs in the connection, if there is one. The database does not
    /// answer: the statement has ended once a later one is answered. If it cannot be reached, the timeout of the statement
    /// ends it.
    pub async fn cancel_statement(&self) {
        #[allow(clippy::clone_on_copy, reason = "without TLS it is a unit")]
        let connector = self.connector.clone();
        if let Err(error) = self.cancel_token.cancel_query(connector).await {
            tracing::debug!(?error, "a statement was not cancelled");
        }
    }
}

impl fmt::Debug for ConnectionTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token can end any statement of the connection.
        let mut text = f.debug_struct("ConnectionTask");
        text.field("driver", &self.driver).finish_non_exhaustive()
    }
}

/// The place of a database, and the way to connect to it as a store does. Nothing is created in it.
pub struct DatabaseAddress {
    config: Config,
    options: PostgresStoreOptions,
    /// The settings of the first connection, for all others: the certificates of the system are read once.
    settings: OnceCell<Settings>,
}

impl DatabaseAddress {
    /// Reads an address.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn new(address: &str, options: PostgresStoreOptions) -> Result<Self, StoreError> {
        Ok(Self {
            config: address::parse(address)?,
            options,
            settings: OnceCell::new(),
        })
    }

    /// Connects to the database.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub async fn connect(&self) -> Result<(Client, ConnectionTask), StoreError> {
        let settings = self.settings.get_or_try_init(async || {
            Ok(Settings {
                config: self.config.clone(),
                connector: tls::connector(&self.options)?,
                options: self.options.clone(),
            })
        });
        let settings = settings.await?;
        let (client, driver) = settings.connect().await?;
        #[allow(clippy::clone_on_copy, reason = "without TLS it is a unit")]
        let task = ConnectionTask {
            driver: DriverTask::spawn(driver),
            cancel_token: client.cancel_token(),
            connector: settings.connector.clone(),
        };
        Ok((client, task))
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address can hold a password.
        let mut text = f.debug_struct("DatabaseAddress");
        text.field("options", &self.options).finish_non_exhaustive()
    }
}
