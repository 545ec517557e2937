//! The store of the demo, as an option names it.

use std::path::{Path, PathBuf};

use turnbuckle::sqlite::SqliteStore;

use crate::error::CliError;

/// Parses the place of a store: `sqlite:FILE`.
pub(super) fn parse_store(text: &str) -> Result<PathBuf, &'static str> {
    match text.strip_prefix("sqlite:") {
        Some(path) if !path.is_empty() => Ok(path.into()),
        _ => Err("a store is a file of SQLite: sqlite:FILE, such as sqlite:demo.db"),
    }
}

/// Opens the store, and creates its file if there is none.
pub(super) fn open_store(path: &Path) -> Result<SqliteStore, CliError> {
    SqliteStore::open(path).map_err(|error| CliError::new(error.to_string()))
}
