//! The growing delay between attempts to connect.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits::ServersLimits;

/// The delay before the next attempt to connect, which grows with each attempt that fails and each
/// connection that is lost soon.
#[derive(Default)]
pub(crate) struct Backoff {
    delay: Option<Duration>,
    until: Option<Instant>,
}

impl Backoff {
    /// Notes a failed attempt, or the loss of a connection that was opened at `opened`, and returns the delay
    /// before the next attempt. A connection that is lost again and again is not tried faster and faster.
    pub(crate) fn fail(&mut self, opened: Option<Instant>, limits: &ServersLimits) -> Duration {
        if opened.is_some_and(|opened| opened.elapsed() >= limits.max_backoff) {
            self.delay = None;
        }
        let delay = match self.delay {
            None => limits.initial_backoff,
            Some(delay) => delay.saturating_mul(2).min(limits.max_backoff),
        };
        self.delay = Some(delay);
        self.until = Some(Instant::now() + delay);
        delay
    }

    /// Returns the time until the next attempt; zero if it may be made now.
    pub(super) fn remaining(&self) -> Duration {
        self.until.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(Instant::now())
        })
    }
}
