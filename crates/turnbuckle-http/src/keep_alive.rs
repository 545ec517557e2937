//! When a quiet stream says that it is still there.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Between those a stream says that it is still there, whatever is set.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Measures the quiet of one stream.
#[derive(Debug)]
pub(crate) struct KeepAlive {
    every: Duration,
    quiet: Pin<Box<Sleep>>,
}

impl KeepAlive {
    pub(crate) fn new(every: Duration) -> Self {
        let every = every.clamp(SHORTEST, LONGEST);
        Self {
            every,
            quiet: Box::pin(tokio::time::sleep(every)),
        }
    }

    /// Something was said.
    pub(crate) fn said(&mut self) {
        self.quiet.as_mut().reset(Instant::now() + self.every);
    }

    /// Ready when it was quiet for so long that something has to be said; that counts as said.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.quiet.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.said();
        // The new deadline has to be polled to wake us.
        let _ = self.quiet.as_mut().poll(cx);
        Poll::Ready(())
    }
}
