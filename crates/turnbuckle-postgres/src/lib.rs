//! A [`Store`](turnbuckle_store::Store) in PostgreSQL, for the instances of one server on any number of
//! machines.
//!
//! The tables are in a schema of their own, which the first instance creates. Times to live follow the
//! clock of the database, so those of the instances may differ. Messages of topics are sent by `NOTIFY`.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use turnbuckle_postgres::PostgresStore;
//! use turnbuckle_store::{AppendAt, Keep, Position, ReadLimit, Store, StoreKey};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let address = "postgres://mcp@db.example.com/mcp";
//! let store = PostgresStore::connect(address).await?;
//! let log = StoreKey::new("changes")?;
//! let keep = Keep { entries: 1000, ttl: Duration::from_secs(600) };
//! store.append(&log, AppendAt::End, vec!["tools".into()], keep).await?;
//!
//! let other_instance = PostgresStore::connect(address).await?;
//! let slice = other_instance.read(&log, Position(0), ReadLimit::default()).await?;
//! assert_eq!(slice.entries, ["tools"]);
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod address;
mod cleanup;
mod connection;
mod database;
mod direct;
mod error;
mod listener;
mod options;
mod pool;
mod schema;
mod store;
mod tls;

pub use direct::{ConnectionTask, DatabaseAddress};
pub use options::PostgresStoreOptions;
pub use store::PostgresStore;

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
