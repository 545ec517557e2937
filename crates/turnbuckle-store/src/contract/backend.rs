//! Engines as the test sees them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::store::{Store, StoreFuture};

/// The future of a method of a [`ContractBackend`].
pub type ContractFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A store as [`check`](super::check) tests it.
pub trait ContractBackend: Send + Sync {
    /// Opens another handle on the same engine, as another process would. It is called at least twice.
    fn open(&self) -> StoreFuture<'_, Arc<dyn Store>>;

    /// Lets time pass for the engine. Sleeps, unless the engine has a clock that tests can move.
    fn advance(&self, time: Duration) -> ContractFuture<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    /// Returns the bytes by which the largest value, entry, message and job are smaller than the bounds of the
    /// trait, because the store adds something to them.
    fn overhead(&self) -> usize {
        0
    }

    /// Returns the number of values, entries of logs and jobs that the engine holds, those included that
    /// have expired and are not removed yet; `None` if that is not known. An engine that removes them
    /// later does so before.
    fn remaining(&self) -> StoreFuture<'_, Option<u64>> {
        Box::pin(async { Ok(None) })
    }

    /// Returns the faults that [`begin`](Self::begin) can cause.
    fn faults(&self) -> &[Fault] {
        &[]
    }

    /// Causes a fault.
    fn begin(&self, _fault: Fault) -> ContractFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Ends a fault.
    fn end(&self, _fault: Fault) -> ContractFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// A fault of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// No handle reaches the engine; its state stays.
    Cut,
    /// The engine has no room for 4 MiB more.
    Full,
    /// The engine was written by a newer release. Handles are opened while it lasts.
    NewerVersion,
}
