//! Tokens about which something was found out lately.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A bounded table of values for tokens, each for a limited time. Only keyed hashes of the tokens are
/// kept.
pub(super) struct RecentTokens<V> {
    hasher: RandomState,
    entries: Mutex<HashMap<u64, Entry<V>>>,
    max_entries: usize,
    ttl: u64,
}

struct Entry<V> {
    until: u64,
    value: V,
}

impl<V: Copy> RecentTokens<V> {
    pub(super) fn new(max_entries: usize, ttl: u64) -> Self {
        Self {
            hasher: RandomState::new(),
            entries: Mutex::new(HashMap::new()),
            max_entries,
            ttl,
        }
    }

    /// Returns the value of a token, unless it is too old.
    pub(super) fn get(&self, token: &str, now: u64) -> Option<V> {
        let hash = self.hasher.hash_one(token);
        let entries = self.entries();
        let entry = entries.get(&hash)?;
        (now < entry.until).then_some(entry.value)
    }

    /// Keeps a value for a token. A full table forgets the old values, or else all.
    pub(super) fn insert(&self, token: &str, value: V, now: u64) {
        let hash = self.hasher.hash_one(token);
        let mut entries = self.entries();
        if entries.len() >= self.max_entries && !entries.contains_key(&hash) {
            entries.retain(|_, entry| now < entry.until);
            if entries.len() >= self.max_entries {
                entries.clear();
            }
        }
        let until = now.saturating_add(self.ttl);
        entries.insert(hash, Entry { until, value });
    }

    pub(super) fn remove(&self, token: &str) {
        let hash = self.hasher.hash_one(token);
        self.entries().remove(&hash);
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<u64, Entry<V>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_kept_for_a_limited_time_and_the_table_is_bounded() {
        let table = RecentTokens::new(10, 5);
        table.insert("dead", 7, 100);
        assert_eq!(table.get("dead", 104), Some(7));
        assert_eq!(
            (table.get("dead", 105), table.get("other", 100)),
            (None, None)
        );
        for number in 0..1_000 {
            table.insert(&number.to_string(), number, 100);
        }
        assert!(table.entries().len() <= 10);
        table.remove("999");
        assert_eq!(table.get("999", 100), None);
    }
}
