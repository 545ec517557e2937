//! Eviction: the tables that give memory back before a request is refused because the total is used up.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

/// The time after which a refused request may try again.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(1);

/// A table that holds memory which nobody needs at once.
///
/// Both functions stop as soon as `is_enough` returns `true`. They are called on any thread, without a
/// lock of the caller.
pub trait EvictMemory: Send + Sync {
    /// Drops what streams that have ended keep for replay. The stream that ended first goes first.
    fn evict_ended_streams(&self, is_enough: &dyn Fn() -> bool);

    /// Ends sessions in which no request runs and nobody reads a stream. The session idle longest ends
    /// first.
    fn evict_idle_sessions(&self, is_enough: &dyn Fn() -> bool);
}

/// The tables of a budget from which memory can be evicted.
#[derive(Default)]
pub(super) struct Evictors(Mutex<State>);

#[derive(Default)]
struct State {
    tables: Vec<Weak<dyn EvictMemory>>,
    /// The time of the last search that did not free enough.
    exhausted_at: Option<Instant>,
}

impl Evictors {
    pub(super) fn add(&self, evictor: Weak<dyn EvictMemory>) {
        self.state().tables.push(evictor);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `evict` on every table.
    pub(super) fn for_each(&self, evict: impl Fn(&dyn EvictMemory)) {
        let tables = self.state().tables.clone();
        let tables = tables.iter().filter_map(Weak::upgrade);
        tables.for_each(|table| evict(&*table));
    }

    /// Returns whether a search could free something. A search that failed is not repeated before a
    /// refused client is asked to come again, so that requests in vain cost no time.
    pub(super) fn is_worth_a_search(&self) -> bool {
        let state = self.state();
        let is_over = |failed: Instant| failed.elapsed() >= RETRY_DELAY;
        !state.tables.is_empty() && state.exhausted_at.is_none_or(is_over)
    }

    /// Records that a search did not free enough.
    pub(super) fn set_exhausted(&self) {
        self.state().exhausted_at = Some(Instant::now());
    }
}

impl fmt::Debug for Evictors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables = self.state().tables.len();
        f.debug_struct("Evictors").field("tables", &tables).finish()
    }
}
