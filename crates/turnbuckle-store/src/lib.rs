//! State that the instances of one server share.
//!
//! - [`Store`] is what a server needs of a shared engine: values with versions, logs, topics and queues, of
//!   bytes. [`MemoryStore`] is one for a single process.
//! - [`GuardedStore`] bounds the time and the number of operations of any store, and [`SealedStore`] encrypts
//!   what a store keeps. A server puts both around the store that it is given.
//! - `contract` (feature `contract`) tests a store against the rules of the trait.
//!
//! A lease is a value with a short time to live that one instance puts with [`Condition::Absent`] and
//! renews with [`Condition::Version`]:
//!
//! ```
//! use std::time::Duration;
//!
//! use turnbuckle_store::{Condition, MemoryStore, Store, StoreKey};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = MemoryStore::new();
//! let lease = StoreKey::new("lease/cleanup")?;
//! let ttl = Duration::from_secs(10);
//!
//! let mine = store.put(&lease, "a".into(), Condition::Absent, ttl).await?;
//! let version = mine.ok_or("another instance has the lease")?;
//! assert_eq!(store.put(&lease, "b".into(), Condition::Absent, ttl).await?, None);
//! assert!(store.put(&lease, "a".into(), Condition::Version(version), ttl).await?.is_some());
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod bounds;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod error;
mod guarded;
mod memory;
mod sealed;
mod store;
mod topic;
mod types;

pub use bytes::Bytes;
pub use error::{StoreError, StoreErrorKind};
pub use guarded::{GuardOptions, GuardedStore, StoreObserver};
pub use memory::{MemoryStore, MemoryStoreOptions};
pub use sealed::{Seal, SealedStore};
pub use store::{Store, StoreFuture};
pub use topic::{
    MAX_SUBSCRIPTIONS, MAX_WAITING_BYTES, MAX_WAITING_MESSAGES, Subscription, TopicEvent, TopicHub,
};
pub use types::{
    AppendAt, Claim, Condition, Keep, LogSlice, Position, ReadLimit, StoreKey, Version, Versioned,
};

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
