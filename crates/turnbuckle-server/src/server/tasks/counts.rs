//! The number of tasks that this instance has created: for each caller, and in sum.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_session::handler::RequestContext;
use turnbuckle_session::internal::limit_error;
use turnbuckle_types::ClientAddress;
use turnbuckle_types::ProtocolError;

use super::options::TaskOptions;
use super::record::Caller;

/// The tasks of this instance that are kept.
#[derive(Default)]
pub(super) struct TaskCounts(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    tasks: HashMap<String, CountedTask>,
    /// The times at which tasks are forgotten, the next one first.
    ends: BinaryHeap<Reverse<(Instant, String)>>,
    callers: HashMap<String, CallerTasks>,
}

struct CountedTask {
    caller: String,
    has_ended: bool,
}

/// The tasks of one caller.
#[derive(Default)]
struct CallerTasks {
    kept: usize,
    /// Tasks that have not ended.
    open: usize,
}

/// Returns the name of a caller for counting: the principal, or else the address.
pub(super) fn caller_key(context: &RequestContext) -> String {
    match (context.principal(), context.client_address()) {
        (Some(principal), _) => format!("principal {}", Caller::from(principal).key()),
        (None, Some(address)) => format!("address {}", ClientAddress(address).network()),
        (None, None) => String::new(),
    }
}

impl TaskCounts {
    /// Counts a new task of a caller.
    ///
    /// # Errors
    /// An error that names the limit, when the caller or all together have too many.
    pub(super) fn add(
        &self,
        id: &str,
        caller: String,
        ttl: Duration,
        options: &TaskOptions,
    ) -> Result<(), ProtocolError> {
        let mut kept = self.lock();
        let now = Instant::now();
        kept.forget_expired(now);
        let own = kept.callers.get(&caller);
        let most = options.max_per_principal;
        if own.is_some_and(|own| own.open >= most) {
            let message = format!(
                "too many tasks of one caller have not ended: the limit is {most} \
                 (Tasks::max_per_principal)"
            );
            return Err(limit_error("Tasks::max_per_principal", message, None));
        }
        let most = options.max_tasks;
        let free = most.saturating_sub(kept.tasks.len());
        if own.map_or(0, |own| own.kept) >= free {
            let message = format!(
                "too many tasks are kept: the limit is {most}, of which one caller can have as many as are \
                 free (Tasks::max_tasks)"
            );
            return Err(limit_error("Tasks::max_tasks", message, None));
        }
        let own = kept.callers.entry(caller.clone()).or_default();
        own.kept += 1;
        own.open += 1;
        kept.ends.push(Reverse((now + ttl, id.to_owned())));
        let task = CountedTask {
            caller,
            has_ended: false,
        };
        kept.tasks.insert(id.to_owned(), task);
        Ok(())
    }

    /// Records that a task has ended, so that it counts only as one that is kept.
    pub(super) fn end(&self, id: &str) {
        let mut kept = self.lock();
        let kept = &mut *kept;
        if let Some(task) = kept.tasks.get_mut(id) {
            task.close(&mut kept.callers);
        }
    }

    /// Forgets a task that was not created after all.
    pub(super) fn remove(&self, id: &str) {
        let mut kept = self.lock();
        kept.remove(id);
        kept.ends.retain(|Reverse((_, other))| other != id);
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn forget_expired(&mut self, now: Instant) {
        while let Some(Reverse((end, _))) = self.ends.peek()
            && *end <= now
        {
            if let Some(Reverse((_, id))) = self.ends.pop() {
                self.remove(&id);
            }
        }
    }

    fn remove(&mut self, id: &str) {
        let Some(mut task) = self.tasks.remove(id) else {
            return;
        };
        task.close(&mut self.callers);
        if let Some(own) = self.callers.get_mut(&task.caller) {
            own.kept -= 1;
            if own.kept == 0 {
                self.callers.remove(&task.caller);
            }
        }
    }
}

impl CountedTask {
    /// Takes the task from those of its caller that have not ended.
    fn close(&mut self, callers: &mut HashMap<String, CallerTasks>) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        if let Some(own) = callers.get_mut(&self.caller) {
            own.open -= 1;
        }
    }
}
