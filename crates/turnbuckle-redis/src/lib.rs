//! A [`Store`](turnbuckle_store::Store) in Redis or Valkey, for instances of a server.
//!
//! A store has two connections: one for commands, and one for the messages of all topics. Both are made
//! again after they were lost.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use turnbuckle_redis::{RedisStore, RedisStoreOptions};
//! use turnbuckle_store::{AppendAt, Keep, Store, StoreKey};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = RedisStoreOptions::new().prefix("weather");
//! let store = RedisStore::connect_with("redis://127.0.0.1/", options).await?;
//! let log = StoreKey::new("changes")?;
//! let keep = Keep { entries: 1000, ttl: Duration::from_secs(600) };
//! store.append(&log, AppendAt::End, vec!["tools".into()], keep).await?;
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod connector;
mod error;
mod keys;
mod options;
mod pool;
mod scripts;
mod store;
mod topics;

pub use options::RedisStoreOptions;
pub use store::RedisStore;

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
