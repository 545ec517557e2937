//! The limits of reconnecting.

use std::time::Duration;

/// The limits of reconnecting to a server whose connection is lost again and again.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ReconnectPolicy {
    /// The most connections that may be opened again within [`ReconnectPolicy::window`]. Default:
    /// 5.
    pub max_attempts: usize,
    /// The time in which the attempts are counted. Default: one minute.
    pub window: Duration,
    /// The delay before the second attempt in the window. Each further one waits twice as long.
    /// Default: 100 ms.
    pub initial_backoff: Duration,
}

impl Default for ReconnectPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            window: Duration::from_secs(60),
            initial_backoff: Duration::from_millis(100),
        }
    }
}

impl ReconnectPolicy {
    /// Creates the default policy.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the most connections that may be opened again within the window.
    #[must_use]
    pub fn max_attempts(mut self, attempts: usize) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// Sets the time in which the attempts are counted.
    #[must_use]
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Sets the delay before the second attempt.
    #[must_use]
    pub fn initial_backoff(mut self, backoff: Duration) -> Self {
        self.initial_backoff = backoff;
        self
    }
}
