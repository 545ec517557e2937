//! Taking a stream up again: when, and how often.

use std::fmt;
use std::time::Duration;

use super::options::HttpClientOptions;

/// Between those a stream is waited for, whatever is set: even a server that wants its client back
/// at once is given so long.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Says when one stream is taken up again, over its whole life. Nothing fills its budget up: an end
/// that is clean costs as much as one that is not.
#[derive(Debug)]
pub(crate) struct Pace {
    reconnects: u32,
    max: u32,
    fruitless: u32,
    max_fruitless: u32,
    retry: Duration,
    max_retry: Duration,
}

impl Pace {
    pub(crate) fn new(options: &HttpClientOptions) -> Self {
        Self {
            reconnects: 0,
            max: options.max_reconnects,
            fruitless: 0,
            max_fruitless: options.max_fruitless_reconnects,
            retry: options.retry,
            max_retry: options.max_retry.clamp(SHORTEST, LONGEST),
        }
    }

    /// Something new came since the last reconnect.
    pub(crate) fn fruitful(&mut self) {
        self.fruitless = 0;
    }

    /// How long to wait before the next reconnect, counted from when the stream ended. `retry` is
    /// what the server asked for.
    pub(crate) fn next(&mut self, retry: Option<Duration>) -> Result<Duration, Spent> {
        if self.fruitless >= self.max_fruitless {
            return Err(Spent::Fruitless(self.max_fruitless));
        }
        if self.reconnects >= self.max {
            return Err(Spent::All(self.max));
        }
        self.reconnects += 1;
        let asked = retry.unwrap_or(self.retry);
        let asked = asked.clamp(SHORTEST, self.max_retry);
        let doubled = asked.saturating_mul(1 << self.fruitless.min(16));
        let wait = doubled.min(self.max_retry);
        let wait = if self.fruitless == 0 {
            wait
        } else {
            (wait + jitter(wait)).min(self.max_retry)
        };
        self.fruitless += 1;
        Ok(wait)
    }
}

/// Why a stream is not taken up again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Spent {
    /// It was so often.
    All(u32),
    /// It was so often in a row, and nothing new came of it.
    Fruitless(u32),
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(times) => write!(
                f,
                "it was taken up again {times} times (HttpClientOptions::max_reconnects)"
            ),
            Self::Fruitless(times) => write!(
                f,
                "it was taken up again {times} times in vain \
                 (HttpClientOptions::max_fruitless_reconnects)"
            ),
        }
    }
}

/// Up to a quarter of a wait, so that many clients do not come back all at once.
fn jitter(wait: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or_default();
    (wait / 4).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_server_says_when_within_bounds() {
        for (asked, wait) in [
            (None, 1000),
            (Some(500), 500),
            (Some(0), 50),
            (Some(u64::MAX), 30_000),
        ] {
            let mut pace = Pace::new(&HttpClientOptions::new());
            assert_eq!(pace.next(asked.map(ms)), Ok(ms(wait)));
        }
    }

    #[test]
    fn both_the_default_and_the_most_are_settable() {
        let options = HttpClientOptions::new().retry(ms(200)).max_retry(ms(500));
        for (asked, wait) in [
            (None, 200),
            (Some(499), 499),
            (Some(500), 500),
            (Some(501), 500),
        ] {
            let mut pace = Pace::new(&options);
            assert_eq!(pace.next(asked.map(ms)), Ok(ms(wait)));
            for _ in 0..9 {
                assert!(pace.next(asked.map(ms)).unwrap() <= ms(500));
            }
        }
        // Without a limit there still is one.
        let mut pace = Pace::new(&HttpClientOptions::new().max_retry(Duration::MAX));
        for _ in 0..10 {
            assert_eq!(pace.next(Some(Duration::MAX)), Ok(LONGEST));
        }
    }

    #[test]
    fn without_fruit_the_waits_grow_and_end() {
        let mut pace = Pace::new(&HttpClientOptions::new());
        let mut expected = 1000;
        for _ in 0..10 {
            let wait = pace.next(None).unwrap();
            let most = (ms(expected) + ms(expected) / 4).min(ms(30_000));
            assert!(ms(expected) <= wait && wait <= most, "{wait:?}");
            expected = (expected * 2).min(30_000);
        }
        assert_eq!(pace.next(None), Err(Spent::Fruitless(10)));
    }

    #[test]
    fn two_clients_hardly_come_back_at_once() {
        let second = || {
            let mut pace = Pace::new(&HttpClientOptions::new());
            pace.next(None).unwrap();
            pace.next(None).unwrap()
        };
        let first = second();
        assert!((0..100).any(|_| second() != first));
    }

    #[test]
    fn fruit_shortens_the_waits_but_the_budget_stays_spent() {
        let options = HttpClientOptions::new().max_reconnects(20);
        let mut pace = Pace::new(&options);
        for _ in 0..20 {
            assert_eq!(pace.next(None), Ok(ms(1000)));
            pace.fruitful();
        }
        assert_eq!(pace.next(None), Err(Spent::All(20)));
    }
}
