//! Errors of PostgreSQL as errors of stores.

use std::error::Error as _;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;
use turnbuckle_store::{StoreError, StoreErrorKind};

/// Returns whether the database took an operation back that may succeed when it is repeated.
pub(crate) fn is_retryable(error: &Error) -> bool {
    let code = error.code();
    code == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
        || code == Some(&SqlState::T_R_DEADLOCK_DETECTED)
}

/// Returns whether a connection is of no more use after this error of an operation. The database may have
/// become a standby, or its tables may have changed.
pub(crate) fn ends_connection(error: &StoreError) -> bool {
    matches!(
        error.kind(),
        StoreErrorKind::Unavailable | StoreErrorKind::Corrupt
    )
}

/// Returns the error of a store for one of an operation.
pub(crate) fn operation_error(error: &Error) -> StoreError {
    match error.code() {
        Some(code) => database_error(code, error),
        None if error.is_closed() || is_io(error) => unavailable(error),
        // A row that cannot be read.
        None => StoreError::new(
            StoreErrorKind::Corrupt,
            format!("the tables of the store are changed: {}", describe(error)),
        ),
    }
}

/// Returns the error of a store for one of a connection that was not made.
pub(crate) fn connect_error(error: &Error) -> StoreError {
    match error.code() {
        Some(code) => database_error(code, error),
        None if error.is_closed() || is_io(error) => unavailable(error),
        None => StoreError::new(
            StoreErrorKind::Misconfigured,
            format!(
                "the address of the database does not fit the server: {}",
                describe(error)
            ),
        ),
    }
}

fn unavailable(error: &Error) -> StoreError {
    let text = format!("the database cannot be reached: {}", describe(error));
    StoreError::new(StoreErrorKind::Unavailable, text)
}

fn is_io(error: &Error) -> bool {
    error
        .source()
        .is_some_and(|source| source.is::<io::Error>())
}

/// Returns the error of a store for one that the database has sent.
fn database_error(code: &SqlState, error: &Error) -> StoreError {
    use StoreErrorKind::{Busy, Corrupt, Full, Misconfigured, TimedOut, Unavailable};

    let (kind, advice) = match code.code() {
        "57014" => (
            TimedOut,
            "a statement took longer than PostgresStoreOptions::statement_timeout: see what slows the \
             database down",
        ),
        "53100" | "53200" | "54000" => (Full, "the database has no room: make some"),
        "53300" => (
            Unavailable,
            "the database has no connection left: raise its max_connections, or lower \
             PostgresStoreOptions::max_connections",
        ),
        "25006" => (
            Unavailable,
            "the database is read only: connect to the primary server",
        ),
        "40001" | "40P01" => (
            Busy,
            "the operation was taken back several times: try again",
        ),
        "42501" => (
            Misconfigured,
            "the role may not do this: let an administrator create the schema for it (CREATE SCHEMA … \
             AUTHORIZATION …), or grant it CREATE on the database",
        ),
        "3D000" => (Misconfigured, "there is no such database: create it"),
        "42P07" | "42723" => (
            Misconfigured,
            "the schema belongs to another program: set another PostgresStoreOptions::schema",
        ),
        code => match code.get(..2) {
            Some("28") => (
                Misconfigured,
                "the database refuses the role or its password",
            ),
            Some("22" | "23" | "3F" | "42" | "XX") => (
                Corrupt,
                "the tables of the store are damaged, changed or gone: restore them, or drop the schema",
            ),
            _ => (Unavailable, "the database failed: see its log"),
        },
    };
    let text = format!("{advice} ({})", describe(error));
    StoreError::new(kind, text)
}

/// Returns the text of an error: without the details of the database, which may quote rows.
fn describe(error: &Error) -> String {
    if let Some(database) = error.as_db_error() {
        return format!("{}: {}", database.code().code(), database.message());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
