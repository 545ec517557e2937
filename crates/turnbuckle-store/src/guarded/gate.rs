//! The admission of operations to a store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::GuardOptions;
use crate::error::{StoreError, StoreErrorKind};

/// The operations under way, and the failures of the last ones.
pub(super) struct Gate {
    options: GuardOptions,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    operations: usize,
    bytes: usize,
    /// Failures without a success between them.
    failures: u32,
    /// The store is not asked before this time.
    closed_until: Option<Instant>,
    /// An operation tries whether the store is back.
    trying: bool,
}

impl Gate {
    pub(super) fn new(options: GuardOptions) -> Self {
        Self {
            options,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits an operation that writes this number of bytes.
    pub(super) fn enter(self: &Arc<Self>, bytes: usize) -> Result<Permit, StoreError> {
        let options = &self.options;
        let mut state = self.lock();
        let mut tries = false;
        if let Some(until) = state.closed_until {
            if state.trying || Instant::now() < until {
                return Err(StoreError::new(
                    StoreErrorKind::Unavailable,
                    format!(
                        "the store failed {} times in a row, and is tried again within {:?}",
                        state.failures, options.pause
                    ),
                ));
            }
            tries = true;
        }
        let full = state.operations >= options.max_operations
            || (state.operations > 0 && bytes > options.max_bytes.saturating_sub(state.bytes));
        if full {
            return Err(StoreError::new(
                StoreErrorKind::Busy,
                format!(
                    "{} operations with {} bytes wait for the store already: try again later",
                    state.operations, state.bytes
                ),
            ));
        }
        state.trying = tries;
        state.operations += 1;
        state.bytes += bytes;
        Ok(Permit {
            gate: self.clone(),
            bytes,
            tries,
        })
    }
}

/// The place of one operation, until it is dropped.
pub(super) struct Permit {
    gate: Arc<Gate>,
    bytes: usize,
    tries: bool,
}

impl Permit {
    /// Counts the outcome of the operation.
    pub(super) fn end(self, error: Option<StoreErrorKind>) {
        let mut state = self.gate.lock();
        if !error.is_some_and(StoreErrorKind::is_failure) {
            state.failures = 0;
            state.closed_until = None;
            return;
        }
        state.failures = state.failures.saturating_add(1);
        if state.failures >= self.gate.options.max_failures {
            state.closed_until = Some(Instant::now() + self.gate.options.pause);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.operations -= 1;
        state.bytes -= self.bytes;
        if self.tries {
            state.trying = false;
        }
    }
}
