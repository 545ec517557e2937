//! The cache of verified tokens.

use std::hash::BuildHasher as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashMapExt as _};

use crate::secret::Secret;

const SHARDS: usize = 8;

/// A cache from tokens to their meaning, bounded in entries and time.
///
/// An entry is found by a hash of the token, whose seed is random for each cache, and is then compared
/// with the whole token. An attacker who does not know the seed cannot choose a token that reaches the
/// comparison, so its duration tells nothing. Only genuine tokens are inserted, so that nobody can
/// fill the cache with tokens of one hash.
///
/// The least recently used half of the entries is dropped when a cache is full.
pub(crate) struct TokenCache<V> {
    hasher: RandomState,
    shards: [Mutex<Shard<V>>; SHARDS],
    max_generation_entries: usize,
}

struct Shard<V> {
    recent: HashMap<u64, Entry<V>>,
    old: HashMap<u64, Entry<V>>,
}

struct Entry<V> {
    token: Secret,
    expires_at: u64,
    value: V,
}

impl<V: Clone> TokenCache<V> {
    /// Creates a cache of at most about `max_entries`. With 0, nothing is kept.
    pub(crate) fn new(max_entries: usize) -> Self {
        Self {
            hasher: RandomState::default(),
            shards: std::array::from_fn(|_| {
                Mutex::new(Shard {
                    recent: HashMap::new(),
                    old: HashMap::new(),
                })
            }),
            max_generation_entries: max_entries.div_ceil(SHARDS * 2),
        }
    }

    /// Returns the meaning of a token, if it is known and not expired.
    pub(crate) fn get(&self, token: &[u8], now: u64) -> Option<V> {
        let hash = self.hasher.hash_one(token);
        let mut shard = self.shard(hash);
        if let Some(entry) = shard.recent.get(&hash) {
            if entry.token.expose().as_bytes() != token {
                return None;
            }
            if now < entry.expires_at {
                return Some(entry.value.clone());
            }
            shard.recent.remove(&hash);
            return None;
        }
        let entry = shard.old.remove(&hash)?;
        if entry.token.expose().as_bytes() != token || now >= entry.expires_at {
            return None;
        }
        let value = entry.value.clone();
        self.insert_recent(&mut shard, hash, entry);
        Some(value)
    }

    /// Keeps the meaning of a token until `expires_at`, in seconds since 1970.
    pub(crate) fn insert(&self, token: &str, value: V, expires_at: u64) {
        if self.max_generation_entries == 0 {
            return;
        }
        let hash = self.hasher.hash_one(token.as_bytes());
        let entry = Entry {
            token: Secret::new(token),
            expires_at,
            value,
        };
        self.insert_recent(&mut self.shard(hash), hash, entry);
    }

    fn insert_recent(&self, shard: &mut Shard<V>, hash: u64, entry: Entry<V>) {
        if shard.recent.len() >= self.max_generation_entries && !shard.recent.contains_key(&hash) {
            shard.old = std::mem::take(&mut shard.recent);
        }
        shard.recent.insert(hash, entry);
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard<V>> {
        // In range: the top three bits.
        let shard = &self.shards[(hash >> 61) as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let lock = |shard: &Mutex<Shard<V>>| {
            let shard = shard.lock().unwrap();
            shard.recent.len() + shard.old.len()
        };
        self.shards.iter().map(lock).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_until_it_expires() {
        let cache = TokenCache::new(100);
        cache.insert("token", 1, 50);
        assert_eq!(cache.get(b"token", 49), Some(1));
        assert_eq!(cache.get(b"tokem", 49), None);
        assert_eq!(cache.get(b"token", 50), None);
        assert_eq!(cache.len(), 0);
    }

    #[test]
    fn the_number_of_entries_is_bounded_and_the_used_ones_stay() {
        let cache = TokenCache::new(1_000);
        cache.insert("used", 0, 50);
        for number in 1..10_000 {
            cache.insert(&number.to_string(), number, 50);
            assert_eq!(cache.get(b"used", 0), Some(0), "after {number}");
        }
        assert!(cache.len() <= 1_008, "{}", cache.len());
        assert_eq!(cache.get(b"1", 0), None);
        assert_eq!(cache.get(b"9999", 0), Some(9_999));
    }

    #[test]
    fn a_token_of_the_older_half_expires_too() {
        let cache = TokenCache::new(16);
        let tokens: Vec<String> = (0..16).map(|number| number.to_string()).collect();
        for token in &tokens {
            cache.insert(token, token.clone(), 50);
        }
        // More tokens than shards: some shard has filled its older half.
        let mut old = cache
            .shards
            .iter()
            .map(|shard| shard.lock().unwrap().old.len());
        assert!(old.any(|count| count > 0));
        for token in &tokens {
            assert_eq!(cache.get(token.as_bytes(), 50), None);
        }
    }

    #[test]
    fn a_cache_without_room_keeps_nothing() {
        let cache = TokenCache::new(0);
        cache.insert("token", 1, 50);
        assert_eq!(cache.get(b"token", 0), None);
    }
}
