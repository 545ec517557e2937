//! One statement at a time in a database file, with bounds.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection, ErrorCode, OpenFlags, Row, Statement, ffi};
use serde_json::Value;
use tokio::sync::Semaphore;
use turnbuckle::Cancellation;
use turnbuckle::prelude::*;
use turnbuckle::types::{Json, Map};
use turnbuckle_types::base::text::shorten_to;

use crate::shared::calls::{self, CallLimit};
use crate::shared::columns::check_names;

/// The instructions of SQLite after which the time is looked at.
const PROGRESS_INTERVAL: i32 = 10_000;

/// The time that a statement waits for the lock of another program.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The bytes of one value, and of one row, that a statement which changes something uses.
const MAX_VALUE_BYTES: usize = 16 << 20;

/// The bytes of one value that a query uses, if its result may have fewer: definitions of tables are values, too.
const MIN_VALUE_BYTES: usize = 1 << 20;

/// The bytes of a statement.
const MAX_SQL_BYTES: i32 = 1 << 20;

/// The characters of an error, which repeats parts of the statement.
const MAX_ERROR_CHARS: usize = 1_000;

/// The statements that run at a time.
const MAX_CALLS: usize = 4;

/// A database file. Each statement has a connection of its own, so that nothing is left for the next one.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) path: PathBuf,
    pub(super) max_rows: usize,
    pub(super) max_result_bytes: usize,
    pub(super) query_timeout: Duration,
    pub(super) permits: Arc<Semaphore>,
    /// The access of queries: [`Access::Read`] or [`Access::Query`].
    pub(super) query_access: Access,
}

/// The call of a tool: its database, and the time that it has.
pub(super) struct Call {
    database: Arc<Database>,
    end: Instant,
    cancellation: Cancellation,
}

/// The actions that a statement may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Read tables and views, in a file that is never written.
    Read,
    /// Read tables and views. SQLite first rolls back what a program has left that ended during a change, for which it
    /// writes.
    Query,
    /// Change data and tables.
    Write,
}

impl Access {
    /// Returns the flags with which a file is opened. Its path is no URI: `file:x?mode=…` is the name of a file.
    pub(super) fn open_flags(self) -> OpenFlags {
        let flags = match self {
            Self::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Self::Query => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Self::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        };
        flags | OpenFlags::SQLITE_OPEN_NO_MUTEX
    }
}

/// The rows of a result.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Map<Json>>,
    /// True if there are more rows than the bounds allow.
    pub(super) is_cut: bool,
}

impl Database {
    /// Creates the permits of the statements that run at a time.
    pub(super) fn permits() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(MAX_CALLS))
    }

    /// Runs work on a thread. It is answered in time: SQLite looks at the time between its instructions, and one function
    /// can take hours.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        cancellation: Cancellation,
        work: impl FnOnce(&Call) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let limit = CallLimit {
            permits: self.permits.clone(),
            failure: "too many statements do not end: try again later, or start the server again",
        };
        let call = Call {
            database: self.clone(),
            end: Instant::now() + self.query_timeout,
            cancellation,
        };
        let late = "the statement took too long (--query-timeout) and goes on: it calls a function that cannot be ended";
        calls::run([limit], call.end, late, move || work(&call)).await?
    }
}

impl Call {
    /// Runs a query and returns its rows.
    pub(super) fn read(&self, sql: &str) -> Result<Rows> {
        let connection = self.open(self.database.query_access)?;
        let mut statement = prepare_one(&connection, sql)?;
        if statement.column_count() == 0 || !statement.readonly() {
            return Err(Failure::new(
                "Only SELECT queries are allowed for read_query",
            ));
        }
        self.rows(&mut statement)
    }

    /// Runs a statement that changes something, and returns how many rows it changed.
    pub(super) fn write(&self, sql: &str) -> Result<u64> {
        let connection = self.open(Access::Write)?;
        let mut statement = prepare_one(&connection, sql)?;
        if statement.readonly() {
            return Err(Failure::new(
                "the statement changes nothing: use read_query",
            ));
        }
        // A statement with RETURNING is complete once all of its rows were read.
        let mut rows = statement.raw_query();
        while rows.next().map_err(|error| failure(&error))?.is_some() {}
        drop(rows);
        Ok(connection.changes())
    }

    /// Runs a query of this program, with one parameter, and returns its rows.
    pub(super) fn describe(&self, sql: &str, parameter: Option<&str>) -> Result<Rows> {
        let connection = self.open(self.database.query_access)?;
        let mut statement = prepare_one(&connection, sql)?;
        if let Some(parameter) = parameter {
            statement
                .raw_bind_parameter(1, parameter)
                .map_err(|error| failure(&error))?;
        }
        self.rows(&mut statement)
    }

    fn open(&self, access: Access) -> Result<Connection> {
        let database = &self.database;
        let (end, cancellation) = (self.end, self.cancellation.clone());
        let max_value_bytes = match access {
            Access::Write => MAX_VALUE_BYTES,
            Access::Read | Access::Query => database
                .max_result_bytes
                .clamp(MIN_VALUE_BYTES, MAX_VALUE_BYTES),
        };
        let open = || {
            let connection = Connection::open_with_flags(&database.path, access.open_flags())?;
            connection.busy_timeout(BUSY_TIMEOUT.min(database.query_timeout))?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            connection.pragma_update(None, "query_only", access != Access::Write)?;
            let max_value_bytes = i32::try_from(max_value_bytes).unwrap_or(i32::MAX);
            connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, max_value_bytes)?;
            connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES)?;
            connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
            let is_over = move || Instant::now() >= end || cancellation.is_cancelled();
            connection.progress_handler(PROGRESS_INTERVAL, Some(is_over))?;
            connection.authorizer(Some(move |context: AuthContext<'_>| {
                authorize(access, &context)
            }))?;
            Ok(connection)
        };
        open().map_err(|error: rusqlite::Error| failure(&error))
    }

    fn rows(&self, statement: &mut Statement<'_>) -> Result<Rows> {
        let names: Vec<String> = statement
            .column_names()
            .into_iter()
            .map(str::to_owned)
            .collect();
        check_names(&names)?;
        let mut found = Rows::default();
        let mut bytes = 0;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(|error| failure(&error))? {
            let fields = self.fields(row, &names, &mut bytes)?;
            let Some(fields) = fields.filter(|_| found.rows.len() < self.database.max_rows) else {
                found.is_cut = true;
                break;
            };
            found.rows.push(fields);
        }
        Ok(found)
    }

    /// Returns a row as an object, and adds its bytes to those of the others; `None` if there are too many.
    fn fields(
        &self,
        row: &Row<'_>,
        names: &[String],
        bytes: &mut usize,
    ) -> Result<Option<Map<Json>>> {
        let max_bytes = self.database.max_result_bytes;
        let mut fields = Map::new();
        for (index, name) in names.iter().enumerate() {
            let value = row.get_ref(index).map_err(|error| failure(&error))?;
            // The JSON of a value takes several times its memory.
            if *bytes + min_length(value) > max_bytes {
                return Ok(None);
            }
            let value = Json::encode(&json_value(value))?;
            *bytes += name.len() + value.as_str().len();
            fields.insert(name.as_str(), value);
        }
        Ok((*bytes <= max_bytes).then_some(fields))
    }
}

/// Prepares the only statement of a text.
fn prepare_one<'c>(connection: &'c Connection, sql: &'c str) -> Result<Statement<'c>> {
    let mut batch = Batch::new(connection, sql);
    let statement = batch.next().map_err(|error| failure(&error))?;
    let statement = statement.ok_or_else(|| Failure::new("there is no statement"))?;
    match batch.next() {
        Ok(None) => Ok(statement),
        _ => Err(Failure::new(
            "You can only execute one statement at a time.",
        )),
    }
}

/// Decides whether a statement may do something.
fn authorize(access: Access, context: &AuthContext<'_>) -> Authorization {
    let is_allowed = match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => !["load_extension", "fts3_tokenizer"]
            .iter()
            .any(|name| function_name.eq_ignore_ascii_case(name)),
        // The query that describes a table.
        AuthAction::Pragma { pragma_name, .. } => {
            pragma_name.eq_ignore_ascii_case("table_info") || opens_extension_table(&context.action)
        }
        AuthAction::Unknown { .. }
        | AuthAction::Attach { .. }
        | AuthAction::Detach { .. }
        | AuthAction::Transaction { .. }
        | AuthAction::Savepoint { .. } => false,
        _ => access == Access::Write || opens_extension_table(&context.action),
    };
    match is_allowed {
        true => Authorization::Allow,
        false => Authorization::Deny,
    }
}

/// Returns whether SQLite takes an action when it opens a table of an extension, also for a query: FTS5 and FTS4 read
/// a pragma each, and R-Tree prepares the statements that write its own tables. A query runs none of them: its file is
/// open for reading, and a statement of its own that writes is refused.
fn opens_extension_table(action: &AuthAction<'_>) -> bool {
    match action {
        AuthAction::Pragma {
            pragma_name,
            pragma_value: None,
        } => ["data_version", "page_size"].contains(pragma_name),
        AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name } => ["_node", "_parent", "_rowid"]
            .iter()
            .any(|suffix| table_name.ends_with(suffix)),
        _ => false,
    }
}

/// Returns how many bytes the JSON of a value has at least.
fn min_length(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 1,
        ValueRef::Text(text) => text.len(),
        ValueRef::Blob(bytes) => 2 * bytes.len(),
    }
}

/// Returns a value as JSON. Bytes are written as SQL writes them.
fn json_value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        // JSON has no infinite number.
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("X'{digits}'").into()
        }
    }
}

fn failure(error: &rusqlite::Error) -> Failure {
    Failure::new(format!("Database error: {}", describe(error)))
}

/// Returns the text of an error, and what to do.
pub(super) fn describe(error: &rusqlite::Error) -> String {
    let text = match error {
        // The whole statement would stand in it.
        rusqlite::Error::SqlInputError { msg, offset, .. } => {
            format!("{} at offset {offset}", shorten_to(msg, MAX_ERROR_CHARS))
        }
        error => shorten_to(&error.to_string(), MAX_ERROR_CHARS),
    };
    let is = |code| {
        let error = error.sqlite_error();
        error.is_some_and(|error| error.extended_code == code)
    };
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => {
            "the statement took too long (--query-timeout)".to_owned()
        }
        Some(ErrorCode::AuthorizationForStatementDenied) => {
            format!("{text}: this tool does not allow it")
        }
        Some(ErrorCode::TooBig) => {
            format!("{text}: a query uses values that are as large as its result may be")
        }
        _ if is(ffi::SQLITE_READONLY_ROLLBACK) || is(ffi::SQLITE_READONLY_RECOVERY) => format!(
            "{text}: another program has ended while it changed the database, and has left a journal (-journal, -wal) \
             that must be rolled back, which --read-only does not do: open the database with a program that may write"
        ),
        _ => text,
    }
}
