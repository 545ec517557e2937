//! Calls on threads, with a time limit. A thread that waits for a file system that does not answer cannot be stopped, so
//! the calls at a time are bounded: for each repository, so that the others are still served, and for all.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use turnbuckle::prelude::*;

use crate::fault;

/// The calls that run at a time.
const MAX_CALLS: usize = 32;

/// The calls on one repository that run at a time.
const MAX_CALLS_PER_REPOSITORY: usize = 4;

/// The time after which a call that does not end by itself is answered.
const GRACE: Duration = Duration::from_secs(1);

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
        let deadline = Instant::now() + call_timeout + GRACE;
        let own_permits = self.repository_permits(repository);
        let own_permit = timeout_at(deadline, own_permits.acquire_owned()).await;
        let own_permit = own_permit.map_err(|_| {
            Failure::new(
                "too many calls on this repository do not end: a file in it may be a pipe or on a disk that does \
                 not answer; mend that, and start the server again",
            )
        })??;
        let permit = timeout_at(deadline, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| {
            Failure::new("too many calls do not end: try again later, or start the server again")
        })??;
        let done = tokio::task::spawn_blocking(move || {
            let _permits = (own_permit, permit);
            work()
        });
        let done = timeout_at(deadline, done).await.map_err(|_| {
            Failure::new(
                "the call did not end in time: a file of the repository may be a pipe or on \
                 a disk that does not answer",
            )
        })?;
        done?.map_err(IntoFailure::into_failure)
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
