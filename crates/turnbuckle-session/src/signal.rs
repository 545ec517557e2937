//! A one-way signal: running, asked to wind down, cancelled.

use std::sync::atomic::{AtomicU8, Ordering, fence};
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

const CLOSING: u8 = 1;
const CANCELLED: u8 = 2;

/// Tells everybody who holds a clone that something is to end. It never goes back.
#[derive(Debug, Clone, Default)]
pub struct Signal(Arc<State>);

#[derive(Debug, Default)]
struct State {
    level: AtomicU8,
    raised: Notify,
}

impl Signal {
    /// A signal that nobody has given yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks what is under way to come to its own end.
    pub fn close(&self) {
        self.raise(CLOSING);
    }

    /// Says that nobody waits for the outcome any more.
    pub fn cancel(&self) {
        self.raise(CANCELLED);
    }

    /// Whether [`close`](Self::close) or [`cancel`](Self::cancel) was called.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.level() >= CLOSING
    }

    /// Whether [`cancel`](Self::cancel) was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.level() >= CANCELLED
    }

    /// Resolves once [`close`](Self::close) or [`cancel`](Self::cancel) is called.
    pub async fn closing(&self) {
        self.reached(CLOSING).await;
    }

    /// Resolves once [`cancel`](Self::cancel) is called.
    pub async fn cancelled(&self) {
        self.reached(CANCELLED).await;
    }

    fn level(&self) -> u8 {
        self.0.level.load(Ordering::Acquire)
    }

    fn raise(&self, level: u8) {
        if self.0.level.fetch_max(level, Ordering::AcqRel) < level {
            self.0.raised.notify_waiters();
        }
    }

    async fn reached(&self, level: u8) {
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

/// A signal of which there is no more than its level until somebody waits for it.
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

    /// The signal itself.
    pub(crate) fn get(&self) -> &Signal {
        let signal = self.made.get_or_init(Signal::new);
        // Whoever raises it meanwhile sees that it is made, or is seen here.
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
