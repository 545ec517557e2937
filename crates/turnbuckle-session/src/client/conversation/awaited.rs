//! Where the answer to one request arrives, and when it is too late for that.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;

use super::{AskError, RawResult};
use crate::{Late, Patience};

/// What becomes of a request.
pub(super) type Outcome = Result<RawResult, AskError>;

/// The answer to a request, which one waits for.
pub(super) struct Awaited {
    patience: Patience,
    /// When it has taken as long as it may in all.
    over: Option<Instant>,
    state: Mutex<State>,
}

struct State {
    outcome: Option<Outcome>,
    late: Option<Late>,
    /// When the request was last heard of.
    heard: Instant,
    waiter: Option<Waker>,
}

impl Awaited {
    /// Of a request that is made `now`, whose time in all began then.
    pub(super) fn new(patience: Patience, began: Instant, now: Instant) -> Self {
        Self {
            patience,
            // A time that no clock reaches is no deadline.
            over: patience.total.and_then(|total| began.checked_add(total)),
            state: Mutex::new(State {
                outcome: None,
                late: None,
                heard: now,
                waiter: None,
            }),
        }
    }

    /// Whether it is waited for only so long.
    pub(super) fn has_deadline(&self) -> bool {
        self.patience.silence.is_some() || self.patience.total.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request is heard of.
    pub(super) fn heard(&self) {
        self.state().heard = Instant::now();
    }

    pub(super) fn arrive(&self, outcome: Outcome) {
        let mut state = self.state();
        state.outcome = Some(outcome);
        let waiter = state.waiter.take();
        drop(state);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    /// What has arrived. From here on nobody is woken, until it is [polled](Self::poll).
    pub(super) fn take(&self) -> Option<Outcome> {
        let mut state = self.state();
        state.waiter = None;
        state.outcome.take()
    }

    /// What has arrived, or whichever deadline has passed.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<Outcome, Late>> {
        let mut state = self.state();
        if let Some(outcome) = state.outcome.take() {
            return Poll::Ready(Ok(outcome));
        }
        if let Some(late) = state.late {
            return Poll::Ready(Err(late));
        }
        match &mut state.waiter {
            Some(waiter) => waiter.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// When it will be too late, and why. The clock of silence runs from when the request was last
    /// heard of, and not while the server is `kept_waiting` by this side.
    fn due(&self, heard: Instant, kept_waiting: Instant) -> Option<(Instant, Late)> {
        let over = self.over.zip(self.patience.total.map(Late::InAll));
        let silent = self.patience.silence.and_then(|silence| {
            let due = heard.max(kept_waiting).checked_add(silence)?;
            Some((due, Late::Silent(silence)))
        });
        match (silent, over) {
            (Some(silent), Some(over)) if silent.0 < over.0 => Some(silent),
            (silent, over) => over.or(silent),
        }
    }

    /// When it will be too late for a request that was just made.
    pub(super) fn first_due(&self, now: Instant) -> Option<Instant> {
        self.due(now, now).map(|(due, _)| due)
    }

    /// Looks at the clock: who is to be woken because it is too late, else when it will be.
    pub(super) fn lapse(
        &self,
        now: Instant,
        kept_waiting: Instant,
    ) -> Result<Option<Instant>, Option<Waker>> {
        let mut state = self.state();
        match self.due(state.heard, kept_waiting) {
            Some((due, late)) if due <= now => {
                state.late = Some(late);
                Err(state.waiter.take())
            }
            due => Ok(due.map(|(due, _)| due)),
        }
    }
}
