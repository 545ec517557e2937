//! How long a request may wait for its answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The deadlines of a request.
///
/// Specification: basic/patterns/cancellation, "Timeouts" (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// When a request was last heard of.
#[derive(Debug, Clone)]
pub(crate) struct Heard(Arc<Mutex<Instant>>);

impl Heard {
    pub(crate) fn now() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    pub(crate) fn again(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Resolves when a deadline has passed. The clock of silence runs from when the request was last
/// `heard` of, and not while the server is `kept_waiting` by this side.
pub(crate) async fn late(
    patience: Patience,
    heard: &Heard,
    kept_waiting: impl Fn() -> Instant,
) -> Late {
    // A time that no clock reaches is no deadline.
    let over = patience
        .total
        .and_then(|total| Some((Instant::now().checked_add(total)?, Late::InAll(total))));
    loop {
        let silent = patience.silence.and_then(|silence| {
            let due = heard.last().max(kept_waiting()).checked_add(silence)?;
            Some((due, Late::Silent(silence)))
        });
        let (due, verdict) = match (silent, over) {
            (Some(silent), Some(over)) if silent.0 < over.0 => silent,
            (_, Some(over)) => over,
            (Some(silent), None) => silent,
            (None, None) => return std::future::pending().await,
        };
        if Instant::now() >= due {
            return verdict;
        }
        tokio::time::sleep_until(due).await;
    }
}
