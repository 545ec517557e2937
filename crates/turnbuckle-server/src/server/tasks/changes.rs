//! Waiting for the next change of a task, as this instance learns of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The tasks whose changes are waited for.
#[derive(Default)]
pub(super) struct TaskChanges(Mutex<HashMap<String, Watched>>);

#[derive(Default)]
struct Watched {
    changed: Arc<Notify>,
    waiters: usize,
}

/// A place from which the changes of a task are seen.
pub(super) struct TaskWatch<'a> {
    changes: &'a TaskChanges,
    id: String,
    changed: Arc<Notify>,
}

impl TaskChanges {
    /// Watches a task from now on.
    pub(super) fn watch(&self, id: &str) -> TaskWatch<'_> {
        let mut tasks = self.lock();
        let watched = tasks.entry(id.to_owned()).or_default();
        watched.waiters += 1;
        TaskWatch {
            changes: self,
            id: id.to_owned(),
            changed: watched.changed.clone(),
        }
    }

    /// Wakes those that watch a task.
    pub(super) fn notify(&self, id: &str) {
        if let Some(watched) = self.lock().get(id) {
            watched.changed.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskWatch<'_> {
    /// Returns a future of the next change. Enable it before looking at the task: then no change is missed.
    pub(super) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }
}

impl Drop for TaskWatch<'_> {
    fn drop(&mut self) {
        let mut tasks = self.changes.lock();
        if let Some(watched) = tasks.get_mut(&self.id) {
            watched.waiters -= 1;
            if watched.waiters == 0 {
                tasks.remove(&self.id);
            }
        }
    }
}
