//! Connections without a store. Internal: for other crates of the workspace, and may change in any release.

use std::fmt;

use tokio::sync::OnceCell;
use tokio_postgres::{Client, Config};
use turnbuckle_store::StoreError;

use crate::address;
use crate::connection::{DriverTask, Settings};
use crate::options::PostgresStoreOptions;
use crate::tls;

/// The task that drives a connection. Dropping it closes the connection.
#[derive(Debug)]
pub struct ConnectionTask {
    _driver: DriverTask,
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
        let (client, driver) = settings.await?.connect().await?;
        let _driver = DriverTask::spawn(driver);
        Ok((client, ConnectionTask { _driver }))
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address can hold a password.
        let mut text = f.debug_struct("DatabaseAddress");
        text.field("options", &self.options).finish_non_exhaustive()
    }
}
