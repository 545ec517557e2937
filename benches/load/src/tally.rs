//! The counts of one slice.

use std::time::Duration;

use crate::plan::{Latency, Slice};

/// Calls that one sender may make in a slice; then it stops, so that no slice grows without end.
pub(crate) const MOST_CALLS: usize = 4_000_000;

/// The CPU that two processes have used so far.
#[derive(Clone, Copy)]
pub(crate) struct Used {
    pub(crate) server: Duration,
    pub(crate) driver: Duration,
}

/// Returns the figures of a slice.
///
/// `latencies` are in nanoseconds, of all calls or of none.
pub(crate) fn slice(
    width: usize,
    calls: usize,
    time: Duration,
    used: [Used; 2],
    mut latencies: Vec<u32>,
) -> Slice {
    let [before, after] = used;
    let each = |used: Duration| used.as_secs_f64() * 1e6 / calls.max(1) as f64;
    latencies.sort_unstable();
    let latency = (!latencies.is_empty()).then(|| Latency {
        p50: percentile(&latencies, 50),
        p99: percentile(&latencies, 99),
    });
    Slice {
        width,
        calls_per_second: calls as f64 / time.as_secs_f64(),
        server_us: each(after.server.saturating_sub(before.server)),
        driver_us: each(after.driver.saturating_sub(before.driver)),
        latency,
    }
}

/// Returns what so many of a hundred are not above, in microseconds.
fn percentile(sorted: &[u32], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    f64::from(sorted[rank - 1]) / 1e3
}

/// Returns a latency as it is kept.
pub(crate) fn nanos(time: Duration) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let hundred: Vec<u32> = (1..=100).map(|number| number * 1000).collect();
        assert_eq!(percentile(&hundred, 50), 50.0);
        assert_eq!(percentile(&hundred, 99), 99.0);
        assert_eq!(percentile(&[7000], 99), 7.0);
    }

    #[test]
    fn a_slice_is_counts_over_time() {
        let used = |ms| Used {
            server: Duration::from_millis(ms),
            driver: Duration::from_millis(ms / 2),
        };
        let second = Duration::from_secs(2);
        let slice = slice(16, 1000, second, [used(10), used(110)], vec![2000, 1000]);
        assert_eq!(slice.calls_per_second, 500.0);
        assert_eq!((slice.server_us, slice.driver_us), (100.0, 50.0));
        let latency = slice.latency.unwrap();
        assert_eq!((latency.p50, latency.p99), (1.0, 2.0));
    }
}
