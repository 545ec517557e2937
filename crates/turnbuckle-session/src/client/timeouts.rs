//! Timeouts of requests.

use std::time::Duration;

use turnbuckle_types::settings;

settings! {
    /// The timeouts of a request. Whichever passes first ends the request, and the server is sent a
    /// cancellation.
    ///
    /// Specification: basic/patterns/cancellation, "Timeouts" (2026-07-28).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Timeouts {
        /// The time without a sign of life. Each progress notification restarts it, and so does
        /// each answer to a request of the server; it does not run while the server waits for such
        /// an answer. `None` for requests that stay open, such as subscriptions.
        // Beyond: `no answer within … of silence (Timeouts::idle_timeout)`
        // Tests: client_faults::answers::no_answer_ends_at_the_deadline
        idle_timeout: Option<Duration> [from impl Into<Option<Duration>>] =
            Some(Duration::from_secs(60)),
        /// The time from the start of the request to its response, including the time in which a
        /// user answers the server's questions.
        // Beyond: `no answer within … (Timeouts::total_timeout)`
        // Tests: client_faults::answers::no_answer_ends_at_the_deadline
        total_timeout: Option<Duration> [from impl Into<Option<Duration>>] =
            Some(Duration::from_secs(3600)),
    }
}

impl Timeouts {
    /// No timeouts.
    pub const NONE: Self = Self {
        idle_timeout: None,
        total_timeout: None,
    };

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeoutKind {
    /// [`Timeouts::idle_timeout`].
    #[error("no answer within {0:?} of silence (Timeouts::idle_timeout)")]
    Idle(Duration),
    /// [`Timeouts::total_timeout`].
    #[error("no answer within {0:?} (Timeouts::total_timeout)")]
    Total(Duration),
}
