//! One timer for all requests of a session that wait for responses.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::client::tasks;
use crate::shared::signal::Signal;

/// The requests that a [`TimeoutTimer`] watches.
pub(super) trait TimedRequests: Send + Sync + 'static {
    /// Returns the wakers of the requests whose timeout has passed, and the next deadline of the
    /// others.
    fn collect_timed_out(&self) -> (Vec<Waker>, Option<Instant>);
}

/// A timer that fires at the earliest deadline. A request that ends earlier leaves it set.
#[derive(Default)]
pub(super) struct TimeoutTimer {
    deadline: Mutex<Option<Instant>>,
    rescheduled: Notify,
}

impl TimeoutTimer {
    fn deadline(&self) -> MutexGuard<'_, Option<Instant>> {
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the timer check `requests` at `deadline` at the latest, until `closed` fires.
    pub(super) fn schedule<R: TimedRequests>(
        self: &Arc<Self>,
        deadline: Instant,
        requests: &Arc<R>,
        closed: &Signal,
    ) {
        let before = {
            let mut current = self.deadline();
            if current.is_some_and(|current| current <= deadline) {
                return;
            }
            current.replace(deadline)
        };
        match before {
            Some(_) => self.rescheduled.notify_one(),
            None => tasks::spawn(
                TimerTask {
                    timer: self.clone(),
                    requests: Arc::downgrade(requests),
                    closed: closed.clone(),
                    is_set: true,
                }
                .run(),
            ),
        }
    }
}

/// The task of a timer; it runs while the timer is set.
struct TimerTask<R> {
    timer: Arc<TimeoutTimer>,
    requests: Weak<R>,
    closed: Signal,
    /// True if the timer is set, as far as this task knows.
    is_set: bool,
}

impl<R: TimedRequests> TimerTask<R> {
    async fn run(mut self) {
        loop {
            let Some(deadline) = *self.timer.deadline() else {
                return;
            };
            tokio::select! {
                biased;
                () = self.closed.cancelled() => return,
                () = self.timer.rescheduled.notified() => continue,
                () = tokio::time::sleep_until(deadline) => {}
            }
            let Some(requests) = self.requests.upgrade() else {
                return;
            };
            let timed_out = {
                // A request that is sent now waits for the lock and sees the next deadline.
                let mut deadline = self.timer.deadline();
                let (timed_out, next) = requests.collect_timed_out();
                *deadline = next;
                self.is_set = next.is_some();
                timed_out
            };
            timed_out.into_iter().for_each(Waker::wake);
            if !self.is_set {
                return;
            }
        }
    }
}

/// Unsets the timer when the runtime drops the task before it is done.
impl<R> Drop for TimerTask<R> {
    fn drop(&mut self) {
        if self.is_set {
            *self.timer.deadline() = None;
        }
    }
}
