//! The total time of one request over all its rounds and repetitions.

use tokio::time::Instant;
use turnbuckle_session::{TimeoutKind, Timeouts};

use crate::error::Error;

/// The start of a request and its timeouts.
pub(crate) struct RequestDeadline {
    pub(crate) started: Instant,
    pub(crate) timeouts: Timeouts,
}

impl RequestDeadline {
    /// Starts the time of a request.
    pub(crate) fn start(timeouts: Timeouts) -> Self {
        Self {
            started: Instant::now(),
            timeouts,
        }
    }

    /// Runs `work` within the rest of the total timeout.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let Some(total) = self.timeouts.total_timeout else {
            return Ok(work.await);
        };
        match self.started.checked_add(total) {
            Some(over) => tokio::time::timeout_at(over, work)
                .await
                .map_err(|_| Error::TimedOut(TimeoutKind::Total(total))),
            // A deadline beyond the range of the clock never comes.
            None => Ok(work.await),
        }
    }
}
