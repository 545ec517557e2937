//! How often something that keeps failing is tried again.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::{Error, Reconnects};

/// Tries within a span of time: the first at once, each further one after a longer wait.
#[derive(Debug)]
pub(crate) struct Budget {
    reconnects: Reconnects,
    tries: VecDeque<Instant>,
}

impl Budget {
    pub(crate) fn new(reconnects: Reconnects) -> Self {
        Self {
            reconnects,
            tries: VecDeque::new(),
        }
    }

    /// Waits until it is time for another try. `last` says what became of the one before.
    ///
    /// # Errors
    /// When there were too many.
    pub(crate) async fn turn(&mut self, last: impl FnOnce() -> String) -> Result<(), Error> {
        let Reconnects {
            attempts,
            within,
            backoff,
        } = self.reconnects;
        let now = Instant::now();
        while self
            .tries
            .front()
            .is_some_and(|at| now.duration_since(*at) >= within)
        {
            self.tries.pop_front();
        }
        let count = self.tries.len();
        if count >= attempts {
            return Err(Error::GivenUp {
                attempts: count,
                within,
                last: last(),
            });
        }
        if let Some(wait) = wait(count, backoff) {
            tokio::time::sleep(wait).await;
        }
        self.tries.push_back(Instant::now());
        Ok(())
    }
}

fn wait(tries: usize, backoff: Duration) -> Option<Duration> {
    let doublings = tries.checked_sub(1)?;
    Some(backoff.saturating_mul(1u32 << doublings.min(16)))
}
