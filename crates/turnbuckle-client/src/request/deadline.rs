//! The total time of one request over all its rounds and repetitions.

use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_session::transport::{TimeoutKind, Timeouts, UserWaits};

use crate::error::Error;

/// The start of a request and its timeouts. Times in which a request of the connection waits for its
/// user do not count.
pub(crate) struct RequestDeadline<'a> {
    started: Instant,
    pub(crate) timeouts: Timeouts,
    user_waits: &'a UserWaits,
    waited_before: Duration,
}

impl<'a> RequestDeadline<'a> {
    /// Starts the time of a request.
    pub(crate) fn start(timeouts: Timeouts, user_waits: &'a UserWaits) -> Self {
        Self {
            started: Instant::now(),
            timeouts,
            user_waits,
            waited_before: user_waits.total(),
        }
    }

    /// Returns the start of the total time: the later, the longer a request waited for its user.
    pub(crate) fn start_time(&self) -> Instant {
        self.started + self.user_waits.total().saturating_sub(self.waited_before)
    }

    /// Runs `work` within the idle timeout and the rest of the total timeout.
    pub(crate) async fn run_idle<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Some(idle) = self.timeouts.idle_timeout else {
            return self.run(work).await?;
        };
        let timed = self.user_waits.timeout(idle, work);
        let late = Err(Error::TimedOut(TimeoutKind::Idle(idle)));
        self.run(timed).await?.unwrap_or(late)
    }

    /// Runs `work` within the rest of the total timeout.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let Some(total) = self.timeouts.total_timeout else {
            return Ok(work.await);
        };
        let rest = total.saturating_sub(self.start_time().elapsed());
        let done = self.user_waits.timeout(rest, work).await;
        done.ok_or(Error::TimedOut(TimeoutKind::Total(total)))
    }
}
