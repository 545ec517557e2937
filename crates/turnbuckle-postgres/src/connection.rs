//! Connections to the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::task::AbortHandle;
use tokio_postgres::{Client, Config, Error, Statement};
use turnbuckle_store::{StoreError, StoreErrorKind};

use crate::error::{connect_error, operation_error};
use crate::options::PostgresStoreOptions;
use crate::schema::{self, in_schema};
use crate::tls::{Connector, Driver};

/// The number of statements that a connection prepares.
pub(crate) const STATEMENTS: usize = 16;

/// The place of a database, and the ways to connect to it.
pub(crate) struct Settings {
    pub(crate) config: Config,
    pub(crate) connector: Connector,
    pub(crate) options: PostgresStoreOptions,
}

impl Settings {
    /// Connects to the database. The connection does nothing unless its driver is polled.
    pub(crate) async fn connect(&self) -> Result<(Client, Driver), StoreError> {
        self.in_time(async {
            #[allow(clippy::clone_on_copy, reason = "without TLS it is a unit")]
            let connector = self.connector.clone();
            let connected = self.config.connect(connector).await;
            connected.map_err(|error| connect_error(&error))
        })
        .await
    }

    /// Returns the SQL that each connection begins with. Every statement has an index: a plan of a time when
    /// its table was empty must not read all of it later.
    pub(crate) fn session_sql(&self, statement_timeout: Duration) -> String {
        format!(
            "SET client_min_messages = warning; SET default_transaction_isolation = 'read committed'; \
             SET jit = off; SET enable_seqscan = off; SET statement_timeout = {}",
            statement_timeout.as_millis()
        )
    }

    async fn in_time<T>(
        &self,
        attempt: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let timeout = self.options.connect_timeout;
        tokio::time::timeout(timeout, attempt)
            .await
            .unwrap_or_else(|_| {
                let text = format!(
                    "the database has not accepted a connection within {timeout:?} \
                     (PostgresStoreOptions::connect_timeout): see whether it is overloaded or gone"
                );
                Err(StoreError::new(StoreErrorKind::Unavailable, text))
            })
    }
}

/// A connection for operations. Operations that run side by side share it: their statements follow each other
/// without waiting for answers.
pub(crate) struct Connection {
    client: Client,
    statements: [OnceCell<Statement>; STATEMENTS],
    schema: Arc<str>,
    was_closed: AtomicBool,
    driver: DriverTask,
}

impl Connection {
    /// Connects to the database, and creates the tables if there are none.
    pub(crate) async fn open(settings: &Settings) -> Result<Self, StoreError> {
        let (mut client, driver) = settings.connect().await?;
        let driver = DriverTask::spawn(driver);
        let options = &settings.options;
        settings
            .in_time(async {
                let begin = settings.session_sql(options.connect_timeout);
                let failed = |error: Error| operation_error(&error);
                client.batch_execute(&begin).await.map_err(failed)?;
                schema::prepare(&mut client, &options.schema).await?;
                let begin = settings.session_sql(options.statement_timeout);
                client.batch_execute(&begin).await.map_err(failed)
            })
            .await?;
        Ok(Self {
            client,
            statements: Default::default(),
            schema: options.schema.as_str().into(),
            was_closed: AtomicBool::new(false),
            driver,
        })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns a statement, which is prepared when it is used first.
    pub(crate) async fn statement(&self, number: usize, sql: &str) -> Result<Statement, Error> {
        let prepare = async || self.client.prepare(&in_schema(sql, &self.schema)).await;
        match self.statements.get(number) {
            Some(statement) => statement.get_or_try_init(prepare).await.cloned(),
            None => prepare().await,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.was_closed() || self.client.is_closed()
    }

    /// Closes the connection. Operations that use it fail.
    pub(crate) fn close(&self) {
        self.was_closed.store(true, Ordering::Relaxed);
        self.driver.0.abort();
    }

    /// Returns whether [`close`](Self::close) was called.
    pub(crate) fn was_closed(&self) -> bool {
        self.was_closed.load(Ordering::Relaxed)
    }
}

/// The task that reads and writes a connection, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct DriverTask(AbortHandle);

impl DriverTask {
    pub(crate) fn spawn(driver: Driver) -> Self {
        let task = tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(target: "turnbuckle", ?error, "a connection to the database has ended");
            }
        });
        Self(task.abort_handle())
    }
}

impl Drop for DriverTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
