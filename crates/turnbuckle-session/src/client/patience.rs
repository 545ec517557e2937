//! How long a request may wait for its answer.

use std::time::Duration;

/// The deadlines of a request.
///
/// Specification: basic/patterns/cancellation, "Timeouts" (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patience {
    /// How long the server may be silent about the request; each notice of progress starts this
    /// anew, and so does each answer to a question of the server: while it waits for this side it is
    /// not silent. `None` for requests that stay open, such as subscriptions.
    pub silence: Option<Duration>,
    /// How long it may take in all, whatever the server says of its progress and whatever it asks;
    /// the time that a user takes to answer counts.
    pub total: Option<Duration>,
}

impl Default for Patience {
    /// 60 seconds of silence, one hour in all.
    fn default() -> Self {
        Self {
            silence: Some(Duration::from_secs(60)),
            total: Some(Duration::from_secs(3600)),
        }
    }
}

impl Patience {
    /// No deadline at all.
    pub const FOREVER: Self = Self {
        silence: None,
        total: None,
    };

    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long the server may be silent; `None` for as long as it likes.
    #[must_use]
    pub fn silence(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.silence = time.into();
        self
    }

    /// Sets how long the request may take in all; `None` for as long as it likes.
    #[must_use]
    pub fn total(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.total = time.into();
        self
    }

    /// At most that long in all, and so in silence.
    #[must_use]
    pub fn at_most(total: Duration) -> Self {
        Self {
            silence: Some(total),
            total: Some(total),
        }
    }
}

/// Whichever deadline passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// The server was silent for that long.
    Silent(Duration),
    /// It took that long in all.
    InAll(Duration),
}
