//! Token buckets of one rate by key, such as one for each client address.

use std::sync::{Mutex, PoisonError};

use turnbuckle_types::ProtocolError;

use super::bounded_table::BoundedTable;
use super::rate::{Rate, TokenBucket};

/// Token buckets of one rate, one for each key. At most so many keys have a bucket of their own;
/// further ones share one.
#[derive(Debug)]
pub struct KeyedRates {
    rate: Rate,
    buckets: Mutex<BoundedTable<TokenBucket>>,
    overflow: TokenBucket,
}

impl KeyedRates {
    /// Returns full buckets of this rate.
    #[must_use]
    pub fn new(rate: Rate, max_keys: usize) -> Self {
        Self {
            rate,
            buckets: Mutex::new(BoundedTable::new(max_keys)),
            overflow: TokenBucket::new(rate),
        }
    }

    /// Takes a token for an operation from the bucket of `key`.
    ///
    /// # Errors
    /// Returns an error that names `operations` and the setting of the limit, when there is no token.
    pub fn admit(
        &self,
        key: u64,
        operations: &str,
        set_by: &'static str,
    ) -> Result<(), ProtocolError> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket =
            buckets.get_or_insert(key, TokenBucket::is_full, || TokenBucket::new(self.rate));
        let bucket = bucket.unwrap_or(&self.overflow);
        bucket.admit(operations, set_by)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
        assert_eq!(rates.buckets.lock().unwrap().len(), 1);
    }
}
