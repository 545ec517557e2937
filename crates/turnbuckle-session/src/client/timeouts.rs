//! Timeouts of requests.

use std::time::Duration;

/// The timeouts of a request. Whichever passes first ends the request, and the server is sent a
/// cancellation.
///
/// Specification: basic/patterns/cancellation, "Timeouts" (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// The time without a sign of life. Each progress notification restarts it, and so does each
    /// answer to a request of the server; it does not run while the server waits for such an answer.
    /// `None` for requests that stay open, such as subscriptions. Default 60 s.
    pub idle_timeout: Option<Duration>,
    /// The time from the start of the request to its response, including the time in which a user
    /// answers the server's questions. Default one hour.
    pub total_timeout: Option<Duration>,
}

impl Default for Timeouts {
    /// Returns 60 seconds without a sign of life, one hour in total.
    fn default() -> Self {
        Self {
            idle_timeout: Some(Duration::from_secs(60)),
            total_timeout: Some(Duration::from_secs(3600)),
        }
    }
}

impl Timeouts {
    /// No timeouts.
    pub const NONE: Self = Self {
        idle_timeout: None,
        total_timeout: None,
    };

    /// Creates the default timeouts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time without a sign of life; `None` for no limit.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.idle_timeout = timeout.into();
        self
    }

    /// Sets the total time of the request; `None` for no limit.
    #[must_use]
    pub fn total_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.total_timeout = timeout.into();
        self
    }

    /// Creates timeouts that are both `timeout`.
    #[must_use]
    pub fn uniform(timeout: Duration) -> Self {
        Self {
            idle_timeout: Some(timeout),
            total_timeout: Some(timeout),
        }
    }
}

/// The timeout that ended a request, with its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutKind {
    /// [`Timeouts::idle_timeout`].
    Idle(Duration),
    /// [`Timeouts::total_timeout`].
    Total(Duration),
}
