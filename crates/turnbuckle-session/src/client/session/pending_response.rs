//! The place where the response to one request arrives, and the timeouts of the request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

use super::request::ProgressHandler;
use super::request_tag::RequestTag;
use super::response::{RawResult, RequestError};
use crate::client::timeouts::{TimeoutKind, Timeouts};

/// The outcome of a request.
pub(super) type Outcome = Result<RawResult, RequestError>;

/// A request that waits for its response, as the session's table holds it.
pub(crate) struct PendingRequest {
    pub(super) response: Arc<PendingResponse>,
    pub(super) progress_handler: Option<Arc<dyn ProgressHandler>>,
    pub(super) tag: Option<RequestTag>,
}

/// The response to one request, for which one task waits.
pub(super) struct PendingResponse {
    timeouts: Timeouts,
    /// The end of [`Timeouts::total_timeout`], if no request waits for its user from now on.
    total_deadline: Option<Instant>,
    /// The time in which requests had waited for their user before this one began.
    waited_before: Duration,
    state: Mutex<State>,
}

struct State {
    outcome: Option<Outcome>,
    timeout: Option<TimeoutKind>,
    /// The last sign of life: the request itself, or a progress notification.
    last_activity: Instant,
    waker: Option<Waker>,
    /// The bytes of messages that came about the request so far.
    bytes: usize,
}

impl PendingResponse {
    /// Creates the place for the response to a request that is sent `now` and whose total time began
    /// at `started_at`. Until `now`, requests had waited for their user for `waited_before`.
    pub(super) fn new(
        timeouts: Timeouts,
        started_at: Instant,
        now: Instant,
        waited_before: Duration,
    ) -> Self {
        Self {
            timeouts,
            // A deadline beyond the range of the clock is none.
            total_deadline: timeouts
                .total_timeout
                .and_then(|total| started_at.checked_add(total)),
            waited_before,
            state: Mutex::new(State {
                outcome: None,
                timeout: None,
                last_activity: now,
                waker: None,
                bytes: 0,
            }),
        }
    }

    /// Returns whether the request has any timeout.
    pub(super) fn has_deadline(&self) -> bool {
        self.timeouts.idle_timeout.is_some() || self.timeouts.total_timeout.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a sign of life, which restarts the idle timeout.
    pub(super) fn record_activity(&self) {
        self.state().last_activity = Instant::now();
    }

    /// Counts a message about the request. Over `limit` bytes in all the request fails, unless it has
    /// no timeout: such a request stays open for messages.
    pub(super) fn count_bytes(&self, bytes: usize, limit: usize) {
        if !self.has_deadline() {
            return;
        }
        let mut state = self.state();
        state.bytes = state.bytes.saturating_add(bytes);
        let is_over = state.bytes > limit && state.outcome.is_none();
        drop(state);
        if is_over {
            self.complete(Err(RequestError::TooManyBytes { limit }));
        }
    }

    /// Sets the outcome and wakes the task that waits for it. A request that was given up for its
    /// bytes stays so.
    pub(super) fn complete(&self, outcome: Outcome) {
        let mut state = self.state();
        if matches!(state.outcome, Some(Err(RequestError::TooManyBytes { .. }))) {
            return;
        }
        state.outcome = Some(outcome);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes the outcome, if there is one. No task is woken from here on until the next
    /// [`poll`](Self::poll).
    pub(super) fn take_outcome(&self) -> Option<Outcome> {
        let mut state = self.state();
        state.waker = None;
        state.outcome.take()
    }

    /// Polls for the outcome, or for the timeout that passed.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<Outcome, TimeoutKind>> {
        let mut state = self.state();
        if let Some(outcome) = state.outcome.take() {
            return Poll::Ready(Ok(outcome));
        }
        if let Some(timeout) = state.timeout {
            return Poll::Ready(Err(timeout));
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Returns the next deadline and its timeout. The idle timeout runs from the last sign of life,
    /// and not before `server_waited_until`: the time in which the server waited for this side does
    /// not count. The total timeout does not count the time `waited` for the user.
    fn next_deadline(
        &self,
        last_activity: Instant,
        server_waited_until: Instant,
        waited: Duration,
    ) -> Option<(Instant, TimeoutKind)> {
        let waited = waited.saturating_sub(self.waited_before);
        let total = self
            .total_deadline
            .and_then(|deadline| deadline.checked_add(waited))
            .zip(self.timeouts.total_timeout.map(TimeoutKind::Total));
        let idle = self.timeouts.idle_timeout.and_then(|timeout| {
            let deadline = last_activity
                .max(server_waited_until)
                .checked_add(timeout)?;
            Some((deadline, TimeoutKind::Idle(timeout)))
        });
        match (idle, total) {
            (Some(idle), Some(total)) if idle.0 < total.0 => Some(idle),
            (idle, total) => total.or(idle),
        }
    }

    /// Returns the first deadline of a request that is sent `now`.
    pub(super) fn initial_deadline(&self, now: Instant) -> Option<Instant> {
        let next = self.next_deadline(now, now, self.waited_before);
        next.map(|(deadline, _)| deadline)
    }

    /// Returns the next deadline if none has passed.
    ///
    /// # Errors
    /// Returns the waker of the waiting task when a timeout has passed.
    pub(super) fn check_timeout(
        &self,
        now: Instant,
        server_waited_until: Instant,
        waited: Duration,
    ) -> Result<Option<Instant>, Option<Waker>> {
        let mut state = self.state();
        match self.next_deadline(state.last_activity, server_waited_until, waited) {
            Some((deadline, timeout)) if deadline <= now => {
                state.timeout = Some(timeout);
                Err(state.waker.take())
            }
            next => Ok(next.map(|(deadline, _)| deadline)),
        }
    }
}
