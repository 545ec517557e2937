//! The settings of a store in a file.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

/// The settings of a [`SqliteStore`](crate::SqliteStore).
#[derive(Debug, Clone)]
pub struct SqliteStoreOptions {
    pub(crate) max_bytes: u64,
    pub(crate) busy_timeout: Duration,
    pub(crate) clock: Clock,
}

impl Default for SqliteStoreOptions {
    fn default() -> Self {
        Self {
            max_bytes: 1 << 30,
            busy_timeout: Duration::from_millis(900),
            clock: Clock::default(),
        }
    }
}

impl SqliteStoreOptions {
    /// Returns the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the most bytes of the file: 1 GiB unless set, at least 64 KiB. The write-ahead log beside it,
    /// which SQLite empties from time to time, is not counted.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes.max(64 << 10);
        self
    }

    /// Sets the time that an operation waits for other processes that write: 900 ms unless set.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }
}

/// The clock of the machine, which tests can put forward.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock(Arc<AtomicI64>);

impl Clock {
    /// Returns the time since the Unix epoch, in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        to_millis(since).saturating_add(self.0.load(Ordering::Relaxed))
    }

    #[cfg(test)]
    pub(crate) fn advance(&self, time: Duration) {
        self.0.fetch_add(to_millis(time), Ordering::Relaxed);
    }
}

/// Returns a time in milliseconds.
pub(crate) fn to_millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
