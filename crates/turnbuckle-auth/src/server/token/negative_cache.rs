//! The cache of tokens that introspection called inactive.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, PoisonError};

/// A set of refused tokens, each for a short time, so that a client that repeats a dead token does not
/// reach the authorization server with each request. Only keyed hashes are kept.
pub(super) struct NegativeCache {
    hasher: RandomState,
    refused: Mutex<HashMap<u64, u64>>,
    max_entries: usize,
    ttl: u64,
}

impl NegativeCache {
    pub(super) fn new(max_entries: usize, ttl: u64) -> Self {
        Self {
            hasher: RandomState::new(),
            refused: Mutex::new(HashMap::new()),
            max_entries,
            ttl,
        }
    }

    pub(super) fn contains(&self, token: &str, now: u64) -> bool {
        let hash = self.hasher.hash_one(token);
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.get(&hash).is_some_and(|until| now < *until)
    }

    pub(super) fn insert(&self, token: &str, now: u64) {
        let hash = self.hasher.hash_one(token);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= self.max_entries {
            refused.retain(|_, until| now < *until);
            if refused.len() >= self.max_entries {
                refused.clear();
            }
        }
        refused.insert(hash, now.saturating_add(self.ttl));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_short_and_the_set_bounded() {
        let cache = NegativeCache::new(10, 5);
        cache.insert("dead", 100);
        assert!(cache.contains("dead", 104) && !cache.contains("dead", 105));
        assert!(!cache.contains("other", 100));
        for number in 0..1_000 {
            cache.insert(&number.to_string(), 100);
        }
        assert!(cache.refused.lock().unwrap().len() <= 10);
    }
}
