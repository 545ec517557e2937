//! The state of a legacy session that only one served by several instances has: what the others have to
//! learn of it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use turnbuckle_types::base::change_position::ChangePosition;

/// The changes by the client of what a [`SessionRecord`](super::session_record::SessionRecord) has, counted
/// for as long as this exists, and the parts of the record that the instances keep for each other.
#[derive(Debug, Default)]
pub(super) struct SharedState {
    changes: AtomicU32,
    /// The resources that the client is subscribed to.
    resources: Mutex<BTreeSet<Box<str>>>,
    position: Mutex<PositionState>,
}

/// The position in the log of changes up to which the client was told of everything.
#[derive(Debug, Default)]
struct PositionState {
    position: Option<ChangePosition>,
    /// True if the position is counted as a change of the record.
    is_counted: bool,
}

impl SharedState {
    /// Returns the number of changes by the client.
    pub(super) fn changes(&self) -> u32 {
        self.changes.load(Ordering::Acquire)
    }

    /// Counts a change by the client.
    pub(super) fn count_change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn resources(&self) -> MutexGuard<'_, BTreeSet<Box<str>>> {
        self.resources
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the client is subscribed to a resource from now on.
    pub(super) fn resource_subscribed(&self, uri: &str) {
        if self.resources().insert(uri.into()) {
            self.count_change();
        }
    }

    /// Records that the client is no longer subscribed to a resource.
    pub(super) fn resource_unsubscribed(&self, uri: &str) {
        if self.resources().remove(uri) {
            self.count_change();
        }
    }

    /// Takes over the resources that another instance recorded. Returns those that were added and removed.
    pub(super) fn take_over_resources(&self, recorded: &[Box<str>]) -> [Vec<Box<str>>; 2] {
        let recorded: BTreeSet<Box<str>> = recorded.iter().cloned().collect();
        let mut resources = self.resources();
        let added = recorded.difference(&resources).cloned().collect();
        let removed = resources.difference(&recorded).cloned().collect();
        *resources = recorded;
        [added, removed]
    }

    fn position_state(&self) -> MutexGuard<'_, PositionState> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the position in the log of changes up to which the client was told of everything.
    pub(super) fn position(&self) -> Option<ChangePosition> {
        self.position_state().position
    }

    /// Sets the position up to which the client was told of everything.
    pub(super) fn set_position(&self, position: ChangePosition) {
        // A position without a number is that of an instance that has not read the log.
        if position.number > 0 {
            *self.position_state() = PositionState {
                position: Some(position),
                is_counted: false,
            };
        }
    }

    /// Counts the position as a change, unless it is counted.
    pub(super) fn count_position(&self) {
        let mut state = self.position_state();
        if state.position.is_some() && !std::mem::replace(&mut state.is_counted, true) {
            drop(state);
            self.count_change();
        }
    }

    /// Takes over the position that another instance recorded, unless the client reads here.
    pub(super) fn take_over_position(&self, position: ChangePosition) {
        let mut state = self.position_state();
        if state.is_counted || state.position.is_none() {
            *state = PositionState {
                position: Some(position),
                is_counted: true,
            };
        }
    }
}
