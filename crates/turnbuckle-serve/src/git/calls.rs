//! Calls on threads, which are bounded: for each repository, so that the others are still served, and for all.

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

/// The calls that run, and those that wait.
pub(super) struct Calls {
    permits: Arc<Semaphore>,
    repositories: Mutex<HashMap<PathBuf, Weak<Semaphore>>>,
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
        call_timeout: Duration,
        work: impl FnOnce() -> fault::Result<String> + Send + 'static,
    ) -> Result<String> {
        let limits = [
            CallLimit {
                permits: self.repository_permits(repository),
                failure: "too many calls on this repository do not end: a file in it may be a pipe or on a disk that \
                          does not answer; mend that, and start the server again",
            },
            CallLimit {
                permits: Arc::clone(&self.permits),
                failure: "too many calls do not end: try again later, or start the server again",
            },
        ];
        let late = "the call did not end in time: a file of the repository may be a pipe or on a disk that does not \
                    answer";
        let done = calls::run(limits, Instant::now() + call_timeout, late, work).await?;
        done.map_err(IntoFailure::into_failure)
    }

    /// Returns the permits of a repository, which are shared by its calls.
    fn repository_permits(&self, repository: PathBuf) -> Arc<Semaphore> {
        let mut repositories = self
            .repositories
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        repositories.retain(|_, permits| permits.strong_count() > 0);
        if let Some(permits) = repositories.get(&repository).and_then(Weak::upgrade) {
            return permits;
        }
        let permits = Arc::new(Semaphore::new(MAX_CALLS_PER_REPOSITORY));
        repositories.insert(repository, Arc::downgrade(&permits));
        permits
    }
}
