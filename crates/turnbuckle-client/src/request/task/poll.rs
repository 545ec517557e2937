//! The times between two requests for the state of a task.

use std::time::Duration;

use turnbuckle_session::transport::TimeoutKind;
use turnbuckle_types::Task;

use crate::error::Error;

/// The time between two requests for a state where the server names none.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
/// The bounds of the time that a server names.
const MIN_INTERVAL: Duration = Duration::from_millis(100);
const MAX_INTERVAL: Duration = Duration::from_secs(300);
/// The most requests in a row that may fail for their connection.
const MAX_FAILURES: u32 = 5;

/// The time until the next request for the state of a task.
#[derive(Debug)]
pub(crate) struct PollSchedule {
    interval: Duration,
    failures: u32,
}

impl PollSchedule {
    pub(crate) fn new() -> Self {
        Self {
            interval: DEFAULT_INTERVAL,
            failures: 0,
        }
    }

    /// Takes note of a state that arrived, with the interval that it names.
    pub(crate) fn note(&mut self, task: &Task) {
        self.failures = 0;
        if let Some(millis) = task.poll_interval_ms {
            self.interval = Duration::from_millis(millis).clamp(MIN_INTERVAL, MAX_INTERVAL);
        }
    }

    /// Takes note of a request that failed.
    ///
    /// # Errors
    /// Returns the error if another request cannot be expected to succeed.
    pub(crate) fn note_failure(&mut self, error: Error) -> Result<(), Error> {
        self.failures += 1;
        match is_transient(&error) && self.failures <= MAX_FAILURES {
            true => Ok(()),
            false => Err(error),
        }
    }

    /// Returns the time until the next request: the interval, and longer after failures.
    pub(crate) fn wait(&self) -> Duration {
        let longer = self
            .interval
            .saturating_mul(1 << self.failures.min(MAX_FAILURES));
        longer.min(MAX_INTERVAL)
    }
}

/// Returns whether a request failed for its connection, so that another one may succeed.
pub(crate) fn is_transient(error: &Error) -> bool {
    matches!(
        error,
        Error::ConnectionLost { .. }
            | Error::Unreachable { .. }
            | Error::ConnectTimedOut { .. }
            | Error::TimedOut(TimeoutKind::Idle(_))
    )
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::TaskStatus;

    use super::*;

    fn wait_of(millis: u64) -> Duration {
        let mut schedule = PollSchedule::new();
        schedule.note(&Task::new("t", TaskStatus::Working, "", "").poll_interval_ms(millis));
        schedule.wait()
    }

    #[test]
    fn the_interval_of_the_server_counts_within_bounds() {
        assert_eq!(PollSchedule::new().wait(), Duration::from_secs(1));
        assert_eq!(wait_of(0), Duration::from_millis(100));
        assert_eq!(wait_of(2_500), Duration::from_millis(2_500));
        assert_eq!(wait_of(u64::MAX), Duration::from_secs(300));
    }

    #[test]
    fn so_many_lost_connections_in_a_row_are_endured_ever_more_slowly() {
        let lost = || Error::ConnectTimedOut {
            timeout: Duration::ZERO,
        };
        let mut schedule = PollSchedule::new();
        for seconds in [2, 4, 8, 16, 32] {
            schedule.note_failure(lost()).unwrap();
            assert_eq!(schedule.wait(), Duration::from_secs(seconds));
        }
        assert!(schedule.note_failure(lost()).is_err());
        schedule.note(&Task::new("t", TaskStatus::Working, "", ""));
        assert!(schedule.note_failure(lost()).is_ok());
        assert!(schedule.note_failure(Error::Closed).is_err());
    }
}
