//! Updates of clients' lists that are under way, which the requests of a client share.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::connections::client_key::ConnectionKey;
use crate::error::Error;

/// The outcome of an update; `None` while it is under way.
pub(super) type UpdateOutcome = watch::Receiver<Option<Result<(), Error>>>;

/// The updates that are under way, one for each connection.
#[derive(Default)]
pub(super) struct ListUpdates(Mutex<HashMap<ConnectionKey, Running>>);

struct Running {
    outcome: UpdateOutcome,
    /// True if a request has been answered without waiting for the end.
    was_left: bool,
}

impl ListUpdates {
    fn running(&self) -> MutexGuard<'_, HashMap<ConnectionKey, Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the outcome of the update of a connection's lists. If none is under way, `update` begins in a task;
    /// it calls [`end`](Self::end) when it has ended.
    pub(super) fn begin<F>(&self, key: &ConnectionKey, update: impl FnOnce() -> F) -> UpdateOutcome
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let mut running = self.running();
        // A task that panicked has no outcome.
        if let Some(known) = running.get(key)
            && known.outcome.has_changed().is_ok()
        {
            return known.outcome.clone();
        }
        let (sender, outcome) = watch::channel(None);
        running.insert(
            key.clone(),
            Running {
                outcome: outcome.clone(),
                was_left: false,
            },
        );
        let update = update();
        tokio::spawn(async move { sender.send_replace(Some(update.await)) });
        outcome
    }

    /// Records that a request no longer waits for an update.
    pub(super) fn leave(&self, key: &ConnectionKey) {
        if let Some(running) = self.running().get_mut(key) {
            running.was_left = true;
        }
    }

    /// Removes an update that has ended, and returns whether a request was answered before.
    pub(super) fn end(&self, key: &ConnectionKey) -> bool {
        let ended = self.running().remove(key);
        ended.is_some_and(|it| it.was_left)
    }
}
