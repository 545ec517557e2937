//! Rate limits as token buckets.
//!
//! A bucket reads the clock only when its tokens are used up. A peer that stays below its rate
//! costs one subtraction per request.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_types::ProtocolError;

use crate::shared::trace::limit_error;

/// A rate limit: a number of operations per second, and a burst.
///
/// Unused operations are saved up to the burst. The clock is read only when the burst is used up:
/// within one second after a pause at most twice the burst is let through, and over any longer time
/// the rate holds.
///
/// ```
/// use turnbuckle_session::handler::{Limits, Rate};
///
/// let limits = Limits::new().call_rate(Rate::per_second(50).burst(200));
/// assert_eq!(limits.completion_rate, Rate::per_second(100));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    per_second: u32,
    burst: u32,
}

impl Rate {
    /// No limit.
    pub const UNLIMITED: Self = Self::per_second(u32::MAX);

    /// Returns a rate of that many operations per second, with a burst of as many. Zero allows
    /// none.
    #[must_use]
    pub const fn per_second(times: u32) -> Self {
        Self {
            per_second: times,
            burst: times,
        }
    }

    /// Sets the burst: how many operations may come at once.
    #[must_use]
    pub const fn burst(mut self, times: u32) -> Self {
        self.burst = times;
        self
    }

    /// Returns the tokens that are saved up in that time, and the time that is left over.
    fn tokens_in(self, time: Duration) -> (u32, Duration) {
        let whole = time.as_nanos().saturating_mul(u128::from(self.per_second)) / NANOS;
        match u32::try_from(whole) {
            Ok(times) if times < self.burst => (times, time.saturating_sub(self.time_for(times))),
            _ => (self.burst, Duration::ZERO),
        }
    }

    /// Returns the time in which that many tokens are saved up, rounded up.
    fn time_for(self, times: u32) -> Duration {
        match self.per_second {
            0 => Duration::MAX,
            rate => {
                let nanos = (u128::from(times) * NANOS).div_ceil(u128::from(rate));
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        }
    }
}

const NANOS: u128 = 1_000_000_000;

/// A token bucket of one rate.
#[derive(Debug)]
pub struct TokenBucket {
    rate: Rate,
    /// Below zero while a task reads the clock to refill the bucket.
    left: AtomicI64,
    /// The time up to which tokens were added.
    since: Mutex<Instant>,
}

impl TokenBucket {
    /// Returns a full bucket.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self::full(rate, Instant::now())
    }

    /// Takes a token for an operation.
    ///
    /// # Errors
    /// Returns an error that names `operations` and the setting of the limit, when there is no
    /// token.
    pub fn admit(&self, what: &str, set_by: &'static str) -> Result<(), ProtocolError> {
        let taken = self.take(Instant::now);
        taken.map_err(|wait| too_many(what, self.rate, set_by, wait))
    }

    /// Takes a token if there is one. Returns whether there was. Nothing is counted as a refusal.
    #[must_use]
    pub fn try_take(&self) -> bool {
        self.take(Instant::now).is_ok()
    }

    pub(crate) fn full(rate: Rate, now: Instant) -> Self {
        Self {
            rate,
            left: AtomicI64::new(i64::from(rate.burst)),
            since: Mutex::new(now),
        }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// Returns how long it takes until there is a token.
    pub(crate) fn take(&self, now: impl FnOnce() -> Instant) -> Result<(), Duration> {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            1.. => Ok(()),
            _ => self.refill(now),
        }
    }

    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns whether tokens are ever added.
    pub(crate) fn refills(&self) -> bool {
        self.rate.per_second > 0
    }

    #[cold]
    fn refill(&self, now: impl FnOnce() -> Instant) -> Result<(), Duration> {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        // Another task may have refilled the bucket meanwhile.
        if self.left.fetch_sub(1, Ordering::Relaxed) > 0 {
            return Ok(());
        }
        let now = now();
        let time = now.saturating_duration_since(*since);
        let (times, over) = self.rate.tokens_in(time);
        if times == 0 {
            self.left.store(0, Ordering::Relaxed);
            return Err(self.rate.time_for(1).saturating_sub(time));
        }
        *since = now.checked_sub(over).unwrap_or(now);
        self.left.store(i64::from(times) - 1, Ordering::Relaxed);
        Ok(())
    }

    /// Returns whether the bucket is full.
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let (times, _) = self.rate.tokens_in(now.saturating_duration_since(since));
        self.left.load(Ordering::Relaxed) + i64::from(times) >= i64::from(self.rate.burst)
    }
}

#[cold]
fn too_many(what: &str, rate: Rate, set_by: &'static str, wait: Duration) -> ProtocolError {
    let Rate { per_second, .. } = rate;
    let message = format!("too many {what}: the limit is {per_second} a second ({set_by})");
    limit_error(set_by, message, Some(wait))
}

#[cfg(test)]
mod tests;
