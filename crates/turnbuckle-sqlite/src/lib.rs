//! A [`Store`](turnbuckle_store::Store) in one SQLite file, for servers of one machine.
//!
//! Several processes may share the file. SQL runs in one thread of each store, never in those of a
//! runtime.
//!
//! ```
//! use std::time::Duration;
//!
//! use turnbuckle_sqlite::SqliteStore;
//! use turnbuckle_store::{AppendAt, Keep, Position, ReadLimit, Store, StoreKey};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("state.db");
//! let store = SqliteStore::open(&path)?;
//! let log = StoreKey::new("changes")?;
//! let keep = Keep { entries: 1000, ttl: Duration::from_secs(600) };
//! store.append(&log, AppendAt::End, vec!["tools".into()], keep).await?;
//!
//! let other_process = SqliteStore::open(&path)?;
//! let slice = other_process.read(&log, Position(0), ReadLimit::default()).await?;
//! assert_eq!(slice.entries, ["tools"]);
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod database;
mod file;
mod options;
mod schema;
mod store;
mod worker;

pub use options::SqliteStoreOptions;
pub use store::SqliteStore;

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
