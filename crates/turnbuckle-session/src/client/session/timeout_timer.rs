//! One timer for all requests of a session that wait for responses.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::client_session::ClientSession;
use crate::client::tasks;
use crate::shared::signal::Signal;

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

    /// Makes the timer check the requests of `session` at `deadline` at the latest, until it is
    /// closed.
    pub(super) fn schedule(self: &Arc<Self>, deadline: Instant, session: &Arc<ClientSession>) {
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
                    session: Arc::downgrade(session),
                    closed: session.closed().clone(),
                    is_set: true,
                }
                .run(),
            ),
        }
    }
}

/// The task of a timer; it runs while the timer is set.
struct TimerTask {
    timer: Arc<TimeoutTimer>,
    session: Weak<ClientSession>,
    closed: Signal,
    /// True if the timer is set, as far as this task knows.
    is_set: bool,
}

impl TimerTask {
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
            let Some(session) = self.session.upgrade() else {
                return;
            };
            let timed_out = {
                // A request that is sent now waits for the lock and sees the next deadline.
                let mut deadline = self.timer.deadline();
                let (timed_out, next) = session.collect_timed_out();
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
impl Drop for TimerTask {
    fn drop(&mut self) {
        if self.is_set {
            *self.timer.deadline() = None;
        }
    }
}
