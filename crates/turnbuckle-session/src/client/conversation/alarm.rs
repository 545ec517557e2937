//! One timer for all requests of a conversation that wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::Conversation;
use crate::Signal;
use crate::shared::driver;

/// Goes off when the first deadline may have passed. A request that ends before leaves it set.
#[derive(Default)]
pub(super) struct Alarm {
    set: Mutex<Option<Instant>>,
    moved: Notify,
}

impl Alarm {
    fn set(&self) -> MutexGuard<'_, Option<Instant>> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Conversation {
    /// Has the alarm go off at `due` at the latest.
    pub(super) fn wake_by(self: &Arc<Self>, due: Instant) {
        let before = {
            let mut set = self.alarm.set();
            if set.is_some_and(|at| at <= due) {
                return;
            }
            set.replace(due)
        };
        match before {
            Some(_) => self.alarm.moved.notify_one(),
            None => driver::run_until_done(
                Watch {
                    alarm: self.alarm.clone(),
                    conversation: Arc::downgrade(self),
                    ended: self.ended.clone(),
                    set: true,
                }
                .run(),
            ),
        }
    }

    /// Who waits for too long, and when the next will.
    fn lapse(&self) -> (Vec<Waker>, Option<Instant>) {
        let (now, kept_waiting) = (Instant::now(), self.kept_waiting());
        let (mut late, mut next) = (Vec::new(), None);
        for pending in self.kernel().waiting_ones() {
            match pending.awaited.lapse(now, kept_waiting) {
                Ok(due) => next = next.into_iter().chain(due).min(),
                Err(waiter) => late.extend(waiter),
            }
        }
        (late, next)
    }
}

/// Waits for the alarm, for as long as it is set.
struct Watch {
    alarm: Arc<Alarm>,
    conversation: Weak<Conversation>,
    ended: Signal,
    /// Whether it was found set.
    set: bool,
}

impl Watch {
    async fn run(mut self) {
        loop {
            let Some(at) = *self.alarm.set() else {
                return;
            };
            tokio::select! {
                biased;
                () = self.ended.cancelled() => return,
                () = self.alarm.moved.notified() => continue,
                () = tokio::time::sleep_until(at) => {}
            }
            let Some(conversation) = self.conversation.upgrade() else {
                return;
            };
            let late = {
                // Whoever comes now waits to see when it goes off next.
                let mut set = self.alarm.set();
                let (late, next) = conversation.lapse();
                *set = next;
                self.set = next.is_some();
                late
            };
            late.into_iter().for_each(Waker::wake);
            if !self.set {
                return;
            }
        }
    }
}

/// Its runtime may end before it does.
impl Drop for Watch {
    fn drop(&mut self) {
        if self.set {
            *self.alarm.set() = None;
        }
    }
}
