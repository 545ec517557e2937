//! Numbers that look like chance, and are the same for the same seed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns a seed for a run that was given none.
pub(crate) fn fresh() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(1, |now| now.as_secs() ^ u64::from(now.subsec_nanos()))
}

/// A source of numbers (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Returns one of its own for each number of a seed.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        Self(seed ^ number.wrapping_mul(0xA24B_AED4_963E_E407))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns one below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        usize::try_from(self.next() % end).unwrap_or_default()
    }

    /// Returns one of these.
    pub(crate) fn choose<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// Returns bytes of any kind.
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

/// Sleeps for some time, up to so many milliseconds.
pub(crate) async fn sleep_randomly(random: &mut Random, ms: usize) {
    let ms = u64::try_from(random.below(ms)).unwrap_or_default();
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
