//! Token buckets of one rate by key, such as one for each client address.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_types::ProtocolError;

use super::rate::{Rate, TokenBucket};

/// The shortest time between two removals of full buckets.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Token buckets of one rate, one for each key. At most so many keys have a bucket of their own;
/// further ones share one.
#[derive(Debug)]
pub struct KeyedRates {
    rate: Rate,
    max_keys: usize,
    known: Mutex<Known>,
    overflow: TokenBucket,
}

#[derive(Debug, Default)]
struct Known {
    by_key: HashMap<u64, TokenBucket>,
    /// The time at which full buckets were last removed.
    last_sweep: Option<Instant>,
}

impl KeyedRates {
    /// Returns full buckets of this rate.
    #[must_use]
    pub fn new(rate: Rate, max_keys: usize) -> Self {
        Self {
            rate,
            max_keys,
            known: Mutex::default(),
            overflow: TokenBucket::new(rate),
        }
    }

    /// Takes a token for an operation from the bucket of `key`.
    ///
    /// # Errors
    /// Returns an error that names `operations` and the setting of the limit, when there is no token.
    pub fn admit(&self, key: u64, operations: &str, set_by: &str) -> Result<(), ProtocolError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = known.by_key.get(&key) {
            return bucket.admit(operations, set_by);
        }
        if known.by_key.len() >= self.max_keys {
            known.remove_full(Instant::now());
        }
        if known.by_key.len() >= self.max_keys {
            return self.overflow.admit(operations, set_by);
        }
        let bucket = known.by_key.entry(key);
        let bucket = bucket.or_insert_with(|| TokenBucket::new(self.rate));
        bucket.admit(operations, set_by)
    }
}

impl Known {
    /// Removes full buckets: a new bucket would have the same tokens.
    fn remove_full(&mut self, now: Instant) {
        let is_recent = |sweep: Instant| now.saturating_duration_since(sweep) < MIN_SWEEP_INTERVAL;
        if self.last_sweep.is_some_and(is_recent) {
            return;
        }
        self.last_sweep = Some(now);
        self.by_key.retain(|_, bucket| !bucket.is_full(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_key_has_a_rate_of_its_own_and_the_number_of_keys_is_bounded() {
        let rates = KeyedRates::new(Rate::per_second(1), 2);
        let admit = |key| rates.admit(key, "handshakes", "Some::setting");
        assert!(admit(1).is_ok() && admit(2).is_ok());
        let refused = admit(1).unwrap_err();
        assert!(refused.message().contains("Some::setting"), "{refused:?}");
        // Both buckets are in use: the others share one.
        assert!(admit(3).is_ok() && admit(4).is_err());
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(admit(5).is_ok());
        assert_eq!(rates.known.lock().unwrap().by_key.len(), 1);
    }
}
