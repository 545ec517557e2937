//! Calls on threads, with a time limit. A thread that waits for a file system that does not answer, or is inside of one
//! function of a library, cannot be stopped: its call is answered nevertheless, and the calls at a time are bounded.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use turnbuckle::prelude::*;

/// The time after which a call that does not end by itself is answered.
const GRACE: Duration = Duration::from_secs(1);

/// A bound on the calls that run at a time.
pub(crate) struct CallLimit {
    /// A permit for each of the calls.
    pub(crate) permits: Arc<Semaphore>,
    /// The error of a call that gets no permit in time.
    pub(crate) failure: &'static str,
}

/// Runs work on a thread, when the calls before it allow that. Work that has not ended a second after `end` is answered
/// with `late`, and goes on.
///
/// # Errors
/// If there is no permit in time, or the work takes longer.
pub(crate) async fn run<T: Send + 'static>(
    limits: impl IntoIterator<Item = CallLimit>,
    end: std::time::Instant,
    late: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let deadline = Instant::from_std(end) + GRACE;
    let mut permits = Vec::new();
    for limit in limits {
        let permit = timeout_at(deadline, limit.permits.acquire_owned()).await;
        permits.push(permit.map_err(|_| Failure::new(limit.failure))??);
    }
    let done = tokio::task::spawn_blocking(move || {
        let _permits = permits;
        work()
    });
    let done = timeout_at(deadline, done).await;
    Ok(done.map_err(|_| Failure::new(late))??)
}
