//! How long a request may wait for its answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The deadlines of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How long the server may be silent about the request; each notice of progress starts this
    /// anew. `None` for requests that stay open, such as subscriptions.
    pub silence: Option<Duration>,
    /// How long it may take in all, whatever the server says of its progress.
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

    fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Resolves when a deadline has passed. While `busy` says so the clock of silence stands still:
/// the server may be waiting for this side.
pub(crate) async fn late(patience: Patience, heard: &Heard, busy: impl Fn() -> bool) -> Late {
    let began = Instant::now();
    loop {
        let silent = patience.silence.map(|silence| (heard.last() + silence, silence));
        let over = patience.total.map(|total| (began + total, total));
        let (due, verdict) = match (silent, over) {
            (Some((silent, silence)), Some((over, _))) if silent < over => {
                (silent, Late::Silent(silence))
            }
            (_, Some((over, total))) => (over, Late::InAll(total)),
            (Some((silent, silence)), None) => (silent, Late::Silent(silence)),
            (None, None) => return std::future::pending().await,
        };
        if Instant::now() < due {
            tokio::time::sleep_until(due).await;
            continue;
        }
        match verdict {
            Late::Silent(_) if busy() => heard.again(),
            late => return late,
        }
    }
}
