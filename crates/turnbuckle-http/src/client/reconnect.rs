//! The schedule for resuming a stream: when, and how often.

use std::fmt;
use std::time::Duration;

use turnbuckle_types::base::random;

use super::options::HttpClientOptions;

/// The bounds of every delay, whatever the server and the options say.
const MIN_DELAY: Duration = Duration::from_millis(50);
const MAX_DELAY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The reconnects of one stream over its whole life. Every end of the stream uses up one, also an
/// orderly one, and nothing gives them back.
#[derive(Debug)]
pub(crate) struct ReconnectSchedule {
    reconnects: u32,
    max_reconnects: u32,
    fruitless: u32,
    max_fruitless: u32,
    reconnect_delay: Duration,
    max_reconnect_delay: Duration,
    /// The delay before the last reconnect.
    last_delay: Duration,
}

impl ReconnectSchedule {
    pub(crate) fn new(options: &HttpClientOptions) -> Self {
        Self {
            reconnects: 0,
            max_reconnects: options.max_reconnects,
            fruitless: 0,
            max_fruitless: options.max_fruitless_reconnects,
            reconnect_delay: options.reconnect_delay,
            max_reconnect_delay: options.max_reconnect_delay.clamp(MIN_DELAY, MAX_DELAY),
            last_delay: Duration::ZERO,
        }
    }

    /// Records the end of a connection. One that brought something new resets the backoff, and so does one
    /// that was open for longer than its client had waited for it: a quiet stream brings nothing.
    pub(crate) fn record_connection(&mut self, made_progress: bool, duration: Duration) {
        if made_progress || duration > self.last_delay {
            self.fruitless = 0;
        }
    }

    /// Returns the delay from the end of the stream to the next reconnect. `requested` is what the
    /// server asked for; each further reconnect without progress doubles it, with some jitter.
    ///
    /// # Errors
    /// Fails when the stream may not be resumed any more.
    pub(crate) fn next_delay(
        &mut self,
        requested: Option<Duration>,
    ) -> Result<Duration, ReconnectLimit> {
        if self.fruitless >= self.max_fruitless {
            return Err(ReconnectLimit::WithoutProgress(self.max_fruitless));
        }
        if self.reconnects >= self.max_reconnects {
            return Err(ReconnectLimit::Total(self.max_reconnects));
        }
        self.reconnects += 1;
        let base = requested.unwrap_or(self.reconnect_delay);
        let base = base.clamp(MIN_DELAY, self.max_reconnect_delay);
        let doubled = base.saturating_mul(1 << self.fruitless.min(16));
        let delay = doubled.min(self.max_reconnect_delay);
        let delay = if self.fruitless == 0 {
            delay
        } else {
            (delay + jitter(delay)).min(self.max_reconnect_delay)
        };
        self.fruitless += 1;
        self.last_delay = delay;
        Ok(delay)
    }
}

/// The limit that keeps a stream from being resumed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReconnectLimit {
    /// `HttpClientOptions::max_reconnects`.
    Total(u32),
    /// `HttpClientOptions::max_fruitless_reconnects`.
    WithoutProgress(u32),
}

impl fmt::Display for ReconnectLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Total(times) => write!(
                f,
                "it was taken up again {times} times (HttpClientOptions::max_reconnects)"
            ),
            Self::WithoutProgress(times) => write!(
                f,
                "it was taken up again {times} times in vain \
                 (HttpClientOptions::max_fruitless_reconnects)"
            ),
        }
    }
}

/// Returns a random part of up to a quarter of `delay`, so that many clients do not reconnect at the
/// same time.
fn jitter(delay: Duration) -> Duration {
    let random = u32::from_ne_bytes(random::bytes().unwrap_or_default());
    (delay / 4).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_server_sets_the_delay_within_bounds() {
        for (asked, wait) in [
            (None, 1000),
            (Some(500), 500),
            (Some(0), 50),
            (Some(u64::MAX), 30_000),
        ] {
            let mut schedule = ReconnectSchedule::new(&HttpClientOptions::new());
            assert_eq!(schedule.next_delay(asked.map(ms)), Ok(ms(wait)));
        }
    }

    #[test]
    fn the_default_and_the_longest_delay_are_settable() {
        let options = HttpClientOptions::new()
            .reconnect_delay(ms(200))
            .max_reconnect_delay(ms(500));
        for (asked, wait) in [
            (None, 200),
            (Some(499), 499),
            (Some(500), 500),
            (Some(501), 500),
        ] {
            let mut schedule = ReconnectSchedule::new(&options);
            assert_eq!(schedule.next_delay(asked.map(ms)), Ok(ms(wait)));
            for _ in 0..9 {
                assert!(schedule.next_delay(asked.map(ms)).unwrap() <= ms(500));
            }
        }
        // MAX_DELAY bounds even a setting without a limit.
        let mut schedule =
            ReconnectSchedule::new(&HttpClientOptions::new().max_reconnect_delay(Duration::MAX));
        for _ in 0..10 {
            assert_eq!(schedule.next_delay(Some(Duration::MAX)), Ok(MAX_DELAY));
        }
    }

    #[test]
    fn without_progress_delays_grow_and_end() {
        let mut schedule = ReconnectSchedule::new(&HttpClientOptions::new());
        let mut expected = 1000;
        for _ in 0..10 {
            let wait = schedule.next_delay(None).unwrap();
            let most = (ms(expected) + ms(expected) / 4).min(ms(30_000));
            assert!(ms(expected) <= wait && wait <= most, "{wait:?}");
            expected = (expected * 2).min(30_000);
        }
        assert_eq!(
            schedule.next_delay(None),
            Err(ReconnectLimit::WithoutProgress(10))
        );
    }

    #[test]
    fn delays_have_jitter() {
        let second = || {
            let mut schedule = ReconnectSchedule::new(&HttpClientOptions::new());
            schedule.next_delay(None).unwrap();
            schedule.next_delay(None).unwrap()
        };
        let first = second();
        assert!((0..100).any(|_| second() != first));
    }

    #[test]
    fn a_connection_that_was_open_for_long_resets_the_backoff() {
        let mut schedule = ReconnectSchedule::new(&HttpClientOptions::new());
        for _ in 0..3 {
            assert_eq!(schedule.next_delay(None), Ok(ms(1000)));
            schedule.record_connection(false, ms(1001));
        }
        assert_eq!(schedule.next_delay(None), Ok(ms(1000)));
        schedule.record_connection(false, ms(1000));
        assert!(schedule.next_delay(None).unwrap() >= ms(2000));
    }

    #[test]
    fn progress_resets_the_backoff_but_not_the_total() {
        let options = HttpClientOptions::new().max_reconnects(20);
        let mut schedule = ReconnectSchedule::new(&options);
        for _ in 0..20 {
            assert_eq!(schedule.next_delay(None), Ok(ms(1000)));
            schedule.record_connection(true, Duration::ZERO);
        }
        assert_eq!(schedule.next_delay(None), Err(ReconnectLimit::Total(20)));
    }
}
