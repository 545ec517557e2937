//! The tables of a store, and the connection to its file.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use turnbuckle_store::{StoreError, StoreErrorKind};

use crate::options::SqliteStoreOptions;

/// The version of the tables. A store with a higher one was written by a newer release.
pub(crate) const SCHEMA_VERSION: i64 = 1;

/// The number that SQLite files of this crate begin with: "tbkl".
const APPLICATION_ID: i64 = 0x7462_6b6c;

const PAGE_BYTES: u64 = 4096;

/// The prepared statements that a connection keeps.
const MAX_STATEMENTS: usize = 64;

const TABLES: &str = "
CREATE TABLE value (
    version INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    bytes BLOB NOT NULL,
    expires INTEGER NOT NULL
);
CREATE INDEX value_expires ON value (expires);

-- A log that has expired and whose entries are not removed yet has no name.
CREATE TABLE log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT UNIQUE,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    expires INTEGER NOT NULL
);
CREATE INDEX log_expires ON log (expires);
CREATE TABLE entry (
    log INTEGER NOT NULL,
    position INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (log, position)
) WITHOUT ROWID;

CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    sender INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    expires INTEGER NOT NULL
);
CREATE INDEX message_expires ON message (expires);

CREATE TABLE job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    bytes BLOB NOT NULL,
    expires INTEGER NOT NULL,
    hidden_until INTEGER NOT NULL DEFAULT 0,
    token INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX job_queue ON job (queue, id);
CREATE INDEX job_expires ON job (expires);
";

/// Connects to the file of a store and creates the tables of a new one.
pub(crate) fn connect(path: &Path, options: &SqliteStoreOptions) -> Result<Connection, StoreError> {
    let translate = |error| to_store_error(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags).map_err(translate)?;
    connection
        .busy_timeout(options.busy_timeout)
        .map_err(translate)?;
    connection.set_prepared_statement_cache_capacity(MAX_STATEMENTS);
    check_version(path, &connection)?;
    use_wal(path, &connection, options.busy_timeout)?;
    let pages = i64::try_from(options.max_bytes / PAGE_BYTES).unwrap_or(i64::MAX);
    connection
        .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF;")
        .and_then(|()| connection.pragma_update(None, "max_page_count", pages))
        .and_then(|()| connection.pragma_update(None, "journal_size_limit", 4 << 20))
        .map_err(translate)?;
    create_tables(&mut connection).map_err(translate)?;
    // Another process may have created tables meanwhile.
    check_version(path, &connection)?;
    Ok(connection)
}

/// Checks that the file is new, or a store that this release knows.
fn check_version(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let translate = |error| to_store_error(path, error);
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let application = pragma("application_id").map_err(translate)?;
    let version = pragma("user_version").map_err(translate)?;
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(translate)?;
    let path = path.display();
    if application != APPLICATION_ID && (application, version, tables) != (0, 0, 0) {
        let text = format!("{path} is a database of another program: name another file");
        return Err(StoreError::new(StoreErrorKind::Misconfigured, text));
    }
    if version > SCHEMA_VERSION {
        let text = format!(
            "{path} has version {version} of the tables, and this release knows version \
             {SCHEMA_VERSION}: use the release that wrote it, or name another file"
        );
        return Err(StoreError::new(StoreErrorKind::NewerVersion, text));
    }
    Ok(())
}

/// Turns the write-ahead log on, for which SQLite does not always wait for other processes itself.
fn use_wal(path: &Path, connection: &Connection, timeout: Duration) -> Result<(), StoreError> {
    let start = Instant::now();
    loop {
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let text = format!(
                    "{} cannot have a write-ahead log (its journal mode is {mode}): put the file on a \
                     local disk",
                    path.display()
                );
                return Err(StoreError::new(StoreErrorKind::Misconfigured, text));
            }
            Err(error) if is_locked(&error) && start.elapsed() < timeout => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(to_store_error(path, error)),
        }
    }
}

fn create_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    let version = |connection: &Connection| {
        connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
    };
    if version(connection)? >= SCHEMA_VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if version(&transaction)? < SCHEMA_VERSION {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    }
    transaction.commit()
}

fn is_locked(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// Returns whether an error says that there is no room.
pub(crate) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

/// Returns the error of a store for one of SQLite.
pub(crate) fn to_store_error(path: &Path, error: rusqlite::Error) -> StoreError {
    let (kind, text) = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            StoreErrorKind::Busy,
            "another process writes for longer than SqliteStoreOptions::busy_timeout: try again",
        ),
        Some(ErrorCode::DiskFull) => (
            StoreErrorKind::Full,
            "there is no room: raise SqliteStoreOptions::max_bytes, or make room on the disk",
        ),
        Some(ErrorCode::NotADatabase) => (
            StoreErrorKind::Corrupt,
            "the file is no SQLite database: name another file, or remove it",
        ),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::TypeMismatch) | None => (
            StoreErrorKind::Corrupt,
            "the file is damaged: restore it from a backup, or remove it",
        ),
        Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => (
            StoreErrorKind::Misconfigured,
            "the file cannot be written: give the user of the server the right to write it and its \
             directory",
        ),
        Some(_) => (
            StoreErrorKind::Unavailable,
            "SQLite failed: see the cause, and check the disk",
        ),
    };
    let text = format!("{}: {text} ({error})", path.display());
    StoreError::new(kind, text).with_source(error)
}
