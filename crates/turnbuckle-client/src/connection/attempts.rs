//! Counts and delays attempts to connect again.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::connection::policy::ReconnectPolicy;
use crate::error::Error;

/// The recent attempts to connect or subscribe again. The first one starts at once, each further
/// one after a longer delay.
#[derive(Debug)]
pub(crate) struct ReconnectAttempts {
    policy: ReconnectPolicy,
    started: VecDeque<Instant>,
}

impl ReconnectAttempts {
    pub(crate) fn new(policy: ReconnectPolicy) -> Self {
        Self {
            policy,
            started: VecDeque::new(),
        }
    }

    /// Waits until another attempt may start. `last` returns the failure of the attempt before.
    ///
    /// # Errors
    /// Returns [`Error::ReconnectsExhausted`] after too many attempts.
    pub(crate) async fn wait_for_next(
        &mut self,
        last: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        let ReconnectPolicy {
            max_attempts: attempts,
            window,
            initial_backoff,
        } = self.policy;
        let now = Instant::now();
        while self
            .started
            .front()
            .is_some_and(|at| now.duration_since(*at) >= window)
        {
            self.started.pop_front();
        }
        let count = self.started.len();
        if count >= attempts {
            return Err(Error::ReconnectsExhausted {
                attempts: count,
                window,
                last_error: last(),
            });
        }
        if let Some(delay) = backoff_delay(count, initial_backoff) {
            tokio::time::sleep(delay).await;
        }
        self.started.push_back(Instant::now());
        Ok(())
    }
}

/// Returns the delay after `attempts` earlier attempts in the window.
fn backoff_delay(attempts: usize, backoff: Duration) -> Option<Duration> {
    let doublings = attempts.checked_sub(1)?;
    Some(backoff.saturating_mul(1u32 << doublings.min(16)))
}
