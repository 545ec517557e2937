//! A one-way signal with three levels: running, closing, cancelled.

use std::sync::atomic::{AtomicU8, Ordering, fence};
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

const CLOSING: u8 = 1;
const CANCELLED: u8 = 2;

/// A signal that ends something for all holders of a clone. Its level never goes back.
#[derive(Debug, Clone, Default)]
pub struct Signal(Arc<State>);

#[derive(Debug, Default)]
struct State {
    level: AtomicU8,
    raised: Notify,
}

impl Signal {
    /// Returns a signal that was not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks running work to come to its own end.
    pub fn close(&self) {
        self.raise(CLOSING);
    }

    /// Cancels running work: its outcome is not wanted any more.
    pub fn cancel(&self) {
        self.raise(CANCELLED);
    }

    /// Returns whether [`close`](Self::close) or [`cancel`](Self::cancel) was called.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.level() >= CLOSING
    }

    /// Returns whether [`cancel`](Self::cancel) was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.level() >= CANCELLED
    }

    /// Resolves once [`close`](Self::close) or [`cancel`](Self::cancel) is called.
    pub async fn closing(&self) {
        self.wait_for_level(CLOSING).await;
    }

    /// Resolves once [`cancel`](Self::cancel) is called.
    pub async fn cancelled(&self) {
        self.wait_for_level(CANCELLED).await;
    }

    /// Waits for `trigger`, then closes the signal. This is a future for the graceful shutdown of a
    /// server in which an endpoint is mounted.
    pub fn close_after(
        &self,
        trigger: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let signal = self.clone();
        async move {
            trigger.await;
            signal.close();
        }
    }

    fn level(&self) -> u8 {
        self.0.level.load(Ordering::Acquire)
    }

    fn raise(&self, level: u8) {
        if self.0.level.fetch_max(level, Ordering::AcqRel) < level {
            self.0.raised.notify_waiters();
        }
    }

    async fn wait_for_level(&self, level: u8) {
        loop {
            let mut raised = std::pin::pin!(self.0.raised.notified());
            raised.as_mut().enable();
            if self.level() >= level {
                return;
            }
            raised.await;
        }
    }
}

/// A signal that allocates nothing until a task waits for it.
#[derive(Debug, Default)]
pub(crate) struct LazySignal {
    level: AtomicU8,
    made: OnceLock<Signal>,
}

impl LazySignal {
    pub(crate) fn close(&self) {
        self.raise(CLOSING);
    }

    pub(crate) fn cancel(&self) {
        self.raise(CANCELLED);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.level.load(Ordering::Acquire) >= CANCELLED
    }

    /// Returns the signal itself.
    pub(crate) fn get(&self) -> &Signal {
        let signal = self.made.get_or_init(Signal::new);
        // A concurrent `raise` sees the signal that was just made, or its level is seen here.
        fence(Ordering::SeqCst);
        signal.raise(self.level.load(Ordering::Acquire));
        signal
    }

    fn raise(&self, level: u8) {
        self.level.fetch_max(level, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        if let Some(signal) = self.made.get() {
            signal.raise(level);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};
    use std::thread;

    use super::*;

    #[test]
    fn a_signal_that_fired_before_is_seen_by_later_waiters() {
        let lazy = LazySignal::default();
        lazy.close();
        assert!(lazy.made.get().is_none(), "nobody has asked for it");
        assert!(!lazy.is_cancelled());
        let signal = lazy.get().clone();
        assert!(signal.is_closing() && !signal.is_cancelled());
        lazy.cancel();
        lazy.close();
        assert!(
            signal.is_cancelled() && lazy.is_cancelled(),
            "it never goes back"
        );
    }

    #[test]
    fn a_signal_wakes_its_waiters() {
        let lazy = LazySignal::default();
        let mut cx = Context::from_waker(Waker::noop());
        let mut closing = pin!(lazy.get().closing());
        let mut cancelled = pin!(lazy.get().cancelled());
        assert!(closing.as_mut().poll(&mut cx).is_pending());
        assert!(cancelled.as_mut().poll(&mut cx).is_pending());
        lazy.close();
        assert!(closing.poll(&mut cx).is_ready());
        assert!(cancelled.as_mut().poll(&mut cx).is_pending());
        lazy.cancel();
        assert!(cancelled.poll(&mut cx).is_ready());
    }

    #[test]
    fn a_signal_that_is_created_while_it_fires_has_fired() {
        for _ in 0..500 {
            let lazy = Arc::new(LazySignal::default());
            let giver = lazy.clone();
            let giving = thread::spawn(move || giver.cancel());
            let signal = lazy.get().clone();
            giving.join().unwrap();
            assert!(signal.is_cancelled());
        }
    }
}
