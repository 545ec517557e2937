//! Connections without a store. Internal: for other crates of the workspace, and may change in any release.

use tokio_postgres::Client;
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

/// Connects to a database, as a store does. Nothing is created in it.
///
/// # Errors
/// When the address cannot be read, or the database cannot be reached.
pub async fn connect(
    address: &str,
    options: &PostgresStoreOptions,
) -> Result<(Client, ConnectionTask), StoreError> {
    let settings = Settings {
        config: address::parse(address)?,
        connector: tls::connector(options)?,
        options: options.clone(),
    };
    let (client, driver) = settings.connect().await?;
    let _driver = DriverTask::spawn(driver);
    Ok((client, ConnectionTask { _driver }))
}

/// Checks that an address can be read.
///
/// # Errors
/// When it cannot.
pub fn check_address(address: &str) -> Result<(), StoreError> {
    address::parse(address).map(drop)
}
