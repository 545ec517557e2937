//! The timer of the comments that keep a silent SSE stream open.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// The bounds of the interval, whatever is set.
const MIN_INTERVAL: Duration = Duration::from_millis(10);
const MAX_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// A timer that is due when nothing was sent on a stream for the interval.
#[derive(Debug)]
pub(crate) struct KeepAlive {
    interval: Duration,
    timer: Pin<Box<Sleep>>,
}

impl KeepAlive {
    pub(crate) fn new(every: Duration) -> Self {
        let interval = every.clamp(MIN_INTERVAL, MAX_INTERVAL);
        Self {
            interval,
            timer: Box::pin(tokio::time::sleep(interval)),
        }
    }

    /// Starts the interval anew, because something was sent.
    pub(crate) fn reset(&mut self) {
        self.timer.as_mut().reset(Instant::now() + self.interval);
    }

    /// Returns ready when a comment is due, and starts the interval anew.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.reset();
        // A timer that was reset wakes nobody until it is polled.
        let _ = self.timer.as_mut().poll(cx);
        Poll::Ready(())
    }
}
