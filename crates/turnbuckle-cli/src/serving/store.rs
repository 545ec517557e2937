//! The store of a server, as an option or a file names it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "postgres")]
use turnbuckle::postgres::PostgresStore;
#[cfg(feature = "redis")]
use turnbuckle::redis::RedisStore;
use turnbuckle::sqlite::SqliteStore;
use turnbuckle::store::Store;

use crate::error::CliError;

/// The place of a store. An address may hold a password.
#[derive(Clone)]
pub(crate) enum StorePlace {
    Sqlite(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres(String),
    #[cfg(feature = "redis")]
    Redis(String),
}

impl StorePlace {
    /// Returns the place whose path, if it is relative, starts at `directory`.
    pub(crate) fn starting_at(self, directory: &Path) -> Self {
        match self {
            Self::Sqlite(path) => Self::Sqlite(directory.join(path)),
            #[cfg(any(feature = "postgres", feature = "redis"))]
            address => address,
        }
    }
}

/// Parses the place of a store.
pub(crate) fn parse_store(text: &str) -> Result<StorePlace, &'static str> {
    match text.split_once(':') {
        Some(("sqlite", path)) if !path.is_empty() => Ok(StorePlace::Sqlite(path.into())),
        #[cfg(feature = "postgres")]
        Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
            Ok(StorePlace::Postgres(text.to_owned()))
        }
        #[cfg(feature = "redis")]
        Some(("redis" | "rediss", rest)) if rest.starts_with("//") => {
            Ok(StorePlace::Redis(text.to_owned()))
        }
        #[cfg(feature = "redis")]
        Some(("unix", path)) if path.starts_with('/') => Ok(StorePlace::Redis(text.to_owned())),
        _ => Err(
            "a store is sqlite:FILE, such as sqlite:demo.db, redis://HOST, a Redis at \
                  unix:/PATH, or postgres://USER@HOST/DATABASE",
        ),
    }
}

/// Opens the store, and creates it if there is none.
pub(crate) async fn open_store(place: &StorePlace) -> Result<Arc<dyn Store>, CliError> {
    let opened: Result<Arc<dyn Store>, _> = match place {
        StorePlace::Sqlite(path) => SqliteStore::open(path).map(|store| Arc::new(store) as _),
        #[cfg(feature = "postgres")]
        StorePlace::Postgres(address) => PostgresStore::connect(address)
            .await
            .map(|store| Arc::new(store) as _),
        #[cfg(feature = "redis")]
        StorePlace::Redis(url) => RedisStore::connect(url)
            .await
            .map(|store| Arc::new(store) as _),
    };
    opened.map_err(|error| CliError::new(error.to_string()))
}
