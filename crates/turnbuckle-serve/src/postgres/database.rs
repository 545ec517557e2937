//! One query at a time in a read-only transaction, with bounds.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Statement};
use turnbuckle::prelude::*;
use turnbuckle::types::{Json, Map};
use turnbuckle_postgres::DatabaseAddress;

use super::idle::{Connection, IdleConnections};
use crate::shared::columns::check_names;

/// The time that the server gets to end a statement itself.
const GRACE: Duration = Duration::from_secs(5);

/// Begins a transaction, which only reads: see [`SessionSettings`](super::idle::SessionSettings).
const BEGIN: &str = "BEGIN";

/// The bytes of a query.
const MAX_SQL_BYTES: usize = 1 << 20;

/// A database. Each query has a connection for itself, in which nothing is left of the one before.
pub(super) struct Database {
    pub(super) idle: IdleConnections,
    pub(super) address: DatabaseAddress,
    pub(super) max_rows: usize,
    pub(super) max_result_bytes: usize,
    pub(super) query_timeout: Duration,
}

/// The rows of a result.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Map<Json>>,
    /// True if there are more rows than the bounds allow.
    pub(super) is_cut: bool,
}

impl Database {
    /// Runs a query and returns its rows.
    pub(super) async fn query(&self, sql: &str) -> Result<Rows> {
        let sql = sql.trim().trim_end_matches(';');
        if sql.is_empty() || sql.len() > MAX_SQL_BYTES {
            let text = format!("a query has 1 to {MAX_SQL_BYTES} bytes");
            return Err(Failure::new(text));
        }
        self.with_connection(async |connection| {
            let client = &connection.client;
            // The server makes JSON of each row, and sends no more of it than is read here.
            let rows = format!(
                "SELECT left(row_to_json(result)::text, {bytes}) FROM (\n{sql}\n) AS result LIMIT {limit}",
                bytes = self.max_result_bytes.saturating_add(1),
                limit = self.max_rows.saturating_add(1),
            );
            // All is sent at once, and the server takes it in this order. Alone, the text must be one statement: if
            // it cannot be prepared, the transaction has failed, in which the server runs nothing any more.
            let (begun, prepared, rows) = tokio::join!(
                biased;
                client.batch_execute(BEGIN),
                client.prepare(sql),
                client.query_typed(&rows, &[]),
            );
            begun.map_err(|error| failure(&error))?;
            let statement = prepared.map_err(|error| failure(&error))?;
            connection.has_looked_up_types = has_foreign_types(&statement);
            match rows {
                Ok(rows) => {
                    let columns = statement.columns().iter().map(|column| column.name());
                    check_names(&columns.collect::<Vec<_>>())?;
                    self.read(rows.iter().map(|row| row.try_get(0)))
                }
                Err(error) if is_not_a_query(&error) => Err(Failure::new(
                    "only queries are allowed: SELECT, VALUES, TABLE or WITH",
                )),
                Err(error) => Err(failure(&error)),
            }
        })
        .await
    }

    /// Runs a query of this program, and returns its first column as text.
    pub(super) async fn texts(
        &self,
        sql: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<String>> {
        self.with_connection(async |Connection { client, .. }| {
            let rows = client.query_typed(sql, parameters);
            let read = tokio::try_join!(biased; client.batch_execute(BEGIN), rows);
            let ((), rows) = read.map_err(|error| failure(&error))?;
            let texts = rows
                .iter()
                .map(|row| row.try_get(0).map_err(|error| failure(&error)));
            texts.collect()
        })
        .await
    }

    /// Does work in a connection that waits, or else in a new one; its transaction is rolled back.
    async fn with_connection<T>(
        &self,
        work: impl AsyncFnOnce(&mut Connection) -> Result<T>,
    ) -> Result<T> {
        self.in_time(async {
            let mut connection = match self.idle.take().await {
                Some(connection) => connection,
                // The futures of a handshake are large.
                None => Box::pin(self.open()).await?,
            };
            let done = work(&mut connection).await;
            self.idle.give_back(connection);
            done
        })
        .await
    }

    async fn open(&self) -> Result<Connection> {
        let connected = self.address.connect().await;
        let (client, task) = connected.map_err(|error| Failure::new(error.to_string()))?;
        let set = self.idle.settings.set(&client).await;
        set.map_err(|error| failure(&error))?;
        Ok(Connection::new(client, task))
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let answer = tokio::time::timeout(self.query_timeout + GRACE, work).await;
        answer.unwrap_or_else(|_| {
            Err(Failure::new(
                "the database does not answer (--query-timeout)",
            ))
        })
    }

    fn read(&self, texts: impl Iterator<Item = Result<String, Error>>) -> Result<Rows> {
        let mut found = Rows::default();
        let mut bytes = 0;
        for text in texts {
            let text = text.map_err(|error| failure(&error))?;
            bytes += text.len();
            if found.rows.len() == self.max_rows || bytes > self.max_result_bytes {
                found.is_cut = true;
                break;
            }
            found.rows.push(serde_json::from_str(&text)?);
        }
        Ok(found)
    }
}

/// Returns whether the client has looked up a type that PostgreSQL does not come with.
fn has_foreign_types(statement: &Statement) -> bool {
    let columns = statement.columns().iter().map(|column| column.type_());
    let mut types = columns.chain(statement.params());
    types.any(|kind| Type::from_oid(kind.oid()).is_none())
}

/// Returns whether a statement cannot stand where a query can.
fn is_not_a_query(error: &Error) -> bool {
    error.code() == Some(&SqlState::SYNTAX_ERROR)
}

fn failure(error: &Error) -> Failure {
    match error.as_db_error() {
        Some(error) => Failure::new(format!("{}: {}", error.code().code(), error.message())),
        None => Failure::new(format!("the connection to the database failed: {error}")),
    }
}
