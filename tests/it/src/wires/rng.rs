//! Numbers that look random and are the same for the same seed.

/// A generator: splitmix64.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// Creates the sequence of that seed for that place; every place has its own.
    #[must_use]
    pub fn new(seed: u64, place: &str) -> Self {
        let fold = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Self(seed ^ place.bytes().fold(0xcbf2_9ce4_8422_2325, fold))
    }

    /// Returns the next number.
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }

    /// Returns a number from `low` to `high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        let span = (high - low) as u64 + 1;
        low + usize::try_from(self.below(span)).unwrap_or_default()
    }
}
