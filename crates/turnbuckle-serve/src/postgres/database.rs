//! One query at a time in a read-only transaction, with bounds.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use futures_core::Stream as _;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Statement};
use turnbuckle::prelude::*;
use turnbuckle::types::{Json, Map};
use turnbuckle_postgres::DatabaseAddress;

use super::connections::{Connection, Connections};
use super::statement::without_end;
use crate::shared::columns::check_names;

/// The time that the server gets to end a statement itself.
const GRACE: Duration = Duration::from_secs(5);

/// Begins a transaction, which only reads: see [`SessionSettings`](super::connections::SessionSettings).
const BEGIN: &str = "BEGIN";

/// The bytes of a query.
const MAX_SQL_BYTES: usize = 1 << 20;

/// A database. Each query has a connection for itself, in which nothing is left of the one before.
pub(super) struct Database {
    pub(super) connections: Connections,
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

/// The rows of a result as JSON texts.
#[derive(Default)]
struct RowTexts {
    texts: Vec<String>,
    /// True if there are more rows than the bounds allow.
    is_cut: bool,
    /// True if the database may send more rows, which nobody reads.
    is_unfinished: bool,
}

impl Database {
    /// Runs a query and returns its rows.
    pub(super) async fn query(&self, sql: &str) -> Result<Rows> {
        let sql = without_end(sql);
        if sql.is_empty() || sql.len() > MAX_SQL_BYTES {
            let text = format!("a query has 1 to {MAX_SQL_BYTES} bytes");
            return Err(Failure::new(text));
        }
        self.with_connection(async |connection| {
            let client = &connection.client;
            // The server makes JSON of each row. `result.*` is the row, also if a column has the name `result`.
            let rows = format!(
                "SELECT left(row_to_json(result.*)::text, {bytes}) FROM (\n{sql}\n) AS result LIMIT {limit}",
                bytes = self.max_result_bytes.saturating_add(1),
                limit = self.max_rows.saturating_add(1),
            );
            // All is sent at once, and the server takes it in this order. Alone, the text must be one statement: if
            // it cannot be prepared, the transaction has failed, in which the server runs nothing any more. Rows are
            // read meanwhile: types that are looked up for the statement are answered behind them.
            let (begun, prepared, rows) = tokio::join!(
                biased;
                client.batch_execute(BEGIN),
                client.prepare(sql),
                self.read(client, &rows),
            );
            begun.map_err(|error| failure(&error))?;
            let statement = prepared.map_err(|error| failure(&error))?;
            if has_foreign_types(&statement) {
                connection.set_looked_up_types();
            }
            match rows {
                Ok(rows) => {
                    if rows.is_unfinished {
                        connection.set_unfinished();
                    }
                    let columns = statement.columns().iter().map(|column| column.name());
                    check_names(&columns.collect::<Vec<_>>())?;
                    rows.decode()
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
        work: impl AsyncFnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        self.in_time(async {
            // The futures of a handshake are large.
            let open = async || Box::pin(self.open()).await;
            let mut lease = self.connections.take(open).await?;
            let done = work(lease.connection()).await;
            lease.set_answered();
            done
        })
        .await
    }

    async fn open(&self) -> Result<Connection> {
        let connected = self.address.connect().await;
        let (client, task) = connected.map_err(|error| Failure::new(error.to_string()))?;
        let set = self.connections.settings.set(&client).await;
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

    /// Reads rows as they come, and no more than the bounds allow.
    async fn read(&self, client: &Client, sql: &str) -> Result<RowTexts, Error> {
        let parameters: [(&str, Type); 0] = [];
        let mut rows = pin!(client.query_typed_raw(sql, parameters).await?);
        let mut found = RowTexts::default();
        let mut bytes = 0;
        while let Some(row) = poll_fn(|context| rows.as_mut().poll_next(context)).await {
            let text: String = row?.try_get(0)?;
            bytes += text.len();
            if found.texts.len() == self.max_rows {
                // By its limit, the statement has no further row.
                found.is_cut = true;
            } else if bytes > self.max_result_bytes {
                (found.is_cut, found.is_unfinished) = (true, true);
                break;
            } else {
                found.texts.push(text);
            }
        }
        Ok(found)
    }
}

impl RowTexts {
    fn decode(self) -> Result<Rows> {
        let rows = self.texts.iter().map(|text| serde_json::from_str(text));
        Ok(Rows {
            rows: rows.collect::<Result<_, _>>()?,
            is_cut: self.is_cut,
        })
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
