//! Calls on threads, which are bounded: for each repository, so that the others are still served, and for all. Calls that
//! change a repository take turns.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use turnbuckle::prelude::*;

use crate::fault;
use crate::shared::calls::{self, CallLimit};

/// The calls that run at a time.
const MAX_CALLS: usize = 32;

/// The calls on one repository that run at a time.
const MAX_CALLS_PER_REPOSITORY: usize = 4;

/// The error of a call that waits for others on its repository.
const REPOSITORY_BUSY: &str = "too many calls on this repository do not end: a file in it may be a pipe or on a disk that \
                               does not answer; mend that, and start the server again";

/// The use that a call makes of its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Calls that read the repository.
    Read,
    /// Calls that change the repository, one at a time.
    Change,
}

/// The calls that run, and those that wait.
pub(super) struct Calls {
    permits: Arc<Semaphore>,
    repositories: Mutex<HashMap<PathBuf, Weak<Permits>>>,
}

/// The permits of one repository.
struct Permits {
    calls: Arc<Semaphore>,
    changes: Arc<Semaphore>,
}

impl Calls {
    /// Creates the bounds without a call.
    pub(super) fn new() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(MAX_CALLS)),
            repositories: Mutex::default(),
        }
    }

    /// Runs work on a repository on a thread, when the calls before it allow that.
    pub(super) async fn run(
        &self,
        repository: PathBuf,
        access: Access,
        call_timeout: Duration,
        work: impl FnOnce() -> fault::Result<String> + Send + 'static,
    ) -> Result<String> {
        let permits = self.repository_permits(repository);
        let limit = |permits: &Arc<Semaphore>, failure| CallLimit {
            permits: Arc::clone(permits),
            failure,
        };
        // Calls that wait for another change leave the rest of the permits to those that read.
        let change = (access == Access::Change).then(|| limit(&permits.changes, REPOSITORY_BUSY));
        let limits = change.into_iter().chain([
            limit(&permits.calls, REPOSITORY_BUSY),
            limit(
                &self.permits,
                "too many calls do not end: try again later, or start the server again",
            ),
        ]);
        let late = "the call did not end in time: a file of the repository may be a pipe or on a disk that does not \
                    answer";
        let end = Instant::now() + call_timeout;
        let held = Arc::clone(&permits);
        let work = move || {
            let _permits = held;
            work()
        };
        let done = calls::run(limits, end, late, work).await?;
        done.map_err(IntoFailure::into_failure)
    }

    /// Returns the permits of a repository, which are shared by its calls.
    fn repository_permits(&self, repository: PathBuf) -> Arc<Permits> {
        let mut repositories = self
            .repositories
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        repositories.retain(|_, permits| permits.strong_count() > 0);
        if let Some(permits) = repositories.get(&repository).and_then(Weak::upgrade) {
            return permits;
        }
        let permits = Arc::new(Permits {
            calls: Arc::new(Semaphore::new(MAX_CALLS_PER_REPOSITORY)),
            changes: Arc::new(Semaphore::new(1)),
        });
        repositories.insert(repository, Arc::downgrade(&permits));
        permits
    }
}
