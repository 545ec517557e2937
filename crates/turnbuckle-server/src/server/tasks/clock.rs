//! The time of day that passes as the timers of the runtime do, also where a test moves them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// A clock that was set once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    set_to: Duration,
    set_at: Instant,
}

impl Clock {
    /// Creates a clock that shows the time of the system.
    pub(super) fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            set_to: since.unwrap_or_default(),
            set_at: Instant::now(),
        }
    }

    /// Returns the milliseconds since the Unix epoch.
    pub(super) fn now_ms(&self) -> u64 {
        to_ms(self.set_to + self.set_at.elapsed())
    }
}

/// Returns a duration in milliseconds.
pub(super) fn to_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a time as ISO 8601.
pub(super) fn to_date(ms: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_millis(ms);
    humantime::format_rfc3339_millis(time).to_string()
}
