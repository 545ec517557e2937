//! The DPoP proofs that were used, until they expire.
//!
//! A proof that was forgotten could be replayed, so a full cache admits no more. One account, the
//! subject of an issuer, can fill only a part of the cache, however many keys and tokens it has.
//!
//! Specification: RFC 9449 section 11.1.

use std::collections::hash_map::{HashMap, RandomState};
use std::collections::{HashSet, VecDeque};
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};
use turnbuckle_types::Principal;

const SHARDS: usize = 16;

/// The proofs of all accounts that are remembered: about 40 MB.
const MAX_PROOFS: usize = 1_048_576;

/// The proofs of one account that are remembered: a proof counts for about a minute, so that an account
/// can make 900 requests in each second.
const MAX_PROOFS_PER_ACCOUNT: usize = 65_536;

/// Proofs that expire in the same interval of this length are forgotten together.
const BUCKET_SECONDS: u64 = 8;

/// The reason why a proof cannot be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// The account has used too many proofs lately.
    Account,
    /// All accounts together have.
    Total,
}

/// The cut hash of a key and the identifier of its proof.
type ProofDigest = [u8; 16];

/// The proofs that expire in one interval, by the hash of their account.
struct Bucket {
    interval: u64,
    used: HashMap<u64, HashSet<ProofDigest>>,
}

type Shard = VecDeque<Bucket>;

/// The proofs that were used.
pub(super) struct ReplayCache {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
    total: AtomicUsize,
    max_proofs: usize,
    max_proofs_per_account: usize,
}

impl Default for ReplayCache {
    fn default() -> Self {
        Self::new(MAX_PROOFS, MAX_PROOFS_PER_ACCOUNT)
    }
}

impl ReplayCache {
    fn new(max_proofs: usize, max_proofs_per_account: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            shards: std::array::from_fn(|_| Mutex::default()),
            total: AtomicUsize::new(0),
            max_proofs,
            max_proofs_per_account,
        }
    }

    /// Remembers a proof until `expires_at`, in seconds since 1970. Returns whether it is new.
    ///
    /// A proof names its time, so that the same proof always expires at the same time.
    pub(super) fn insert(
        &self,
        account: &Principal,
        thumbprint: &str,
        jti: &str,
        now: u64,
        expires_at: u64,
    ) -> Result<bool, Full> {
        let account = self.hasher.hash_one((&account.issuer, &account.subject));
        let digest = digest(thumbprint, jti);
        let interval = expires_at / BUCKET_SECONDS;
        if self.total.load(Ordering::Relaxed) >= self.max_proofs {
            self.shards.iter().for_each(|shard| {
                self.forget_expired(&mut lock(shard), now);
            });
        }
        // In range: the top four bits.
        let mut shard = lock(&self.shards[(account >> 60) as usize % SHARDS]);
        self.forget_expired(&mut shard, now);
        let proofs = |bucket: &Bucket| bucket.used.get(&account).map_or(0, HashSet::len);
        let count: usize = shard.iter().map(proofs).sum();
        let index = match shard.iter().position(|bucket| bucket.interval == interval) {
            Some(index) => index,
            None => {
                let used = HashMap::new();
                shard.push_back(Bucket { interval, used });
                shard.len() - 1
            }
        };
        let Some(bucket) = shard.get_mut(index) else {
            return Err(Full::Total);
        };
        let known = bucket.used.get(&account);
        if known.is_some_and(|known| known.contains(&digest)) {
            return Ok(false);
        }
        if count >= self.max_proofs_per_account {
            return Err(Full::Account);
        }
        if self.total.fetch_add(1, Ordering::Relaxed) >= self.max_proofs {
            self.total.fetch_sub(1, Ordering::Relaxed);
            return Err(Full::Total);
        }
        bucket.used.entry(account).or_default().insert(digest);
        Ok(true)
    }

    fn forget_expired(&self, shard: &mut Shard, now: u64) {
        shard.retain(|bucket| {
            let is_kept = now < (bucket.interval + 1).saturating_mul(BUCKET_SECONDS);
            if !is_kept {
                let count = bucket.used.values().map(HashSet::len).sum();
                self.total.fetch_sub(count, Ordering::Relaxed);
            }
            is_kept
        });
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn digest(thumbprint: &str, jti: &str) -> ProofDigest {
    let hash = Sha256::new()
        .chain_update(thumbprint)
        .chain_update([0])
        .chain_update(jti)
        .finalize();
    std::array::from_fn(|index| hash[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(subject: &str) -> Principal {
        Principal::new("https://as", subject)
    }

    #[test]
    fn a_proof_is_new_once_per_key() {
        let (cache, ann) = (ReplayCache::default(), account("ann"));
        assert_eq!(cache.insert(&ann, "key", "1", 100, 160), Ok(true));
        assert_eq!(cache.insert(&ann, "key", "1", 100, 160), Ok(false));
        assert_eq!(cache.insert(&ann, "key", "1", 159, 160), Ok(false));
        assert_eq!(cache.insert(&ann, "other", "1", 100, 160), Ok(true));
        assert_eq!(cache.insert(&ann, "key", "2", 100, 160), Ok(true));
        assert_eq!(cache.insert(&ann, "key", "1", 168, 228), Ok(true));
        assert_eq!(cache.total.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn an_account_fills_its_own_share_only() {
        let (cache, ann) = (ReplayCache::new(1_000, 100), account("ann"));
        for number in 0..100 {
            let (key, jti) = (format!("key {number}"), number.to_string());
            assert_eq!(cache.insert(&ann, &key, &jti, 100, 160 + number), Ok(true));
        }
        assert_eq!(
            cache.insert(&ann, "another", "1", 100, 160),
            Err(Full::Account)
        );
        assert_eq!(cache.insert(&ann, "key 0", "0", 100, 160), Ok(false));
        for number in 0..200 {
            let other = account(&number.to_string());
            assert_eq!(cache.insert(&other, "key", "1", 100, 160), Ok(true));
        }
        // Expired proofs make room.
        assert_eq!(cache.insert(&ann, "another", "1", 168, 228), Ok(true));
    }

    #[test]
    fn an_account_of_the_same_name_at_another_issuer_is_another() {
        let (cache, ann) = (ReplayCache::new(1_000, 1), account("ann"));
        let other = Principal::new("https://other", "ann");
        assert_eq!(cache.insert(&ann, "key", "1", 100, 160), Ok(true));
        assert_eq!(cache.insert(&other, "key", "2", 100, 160), Ok(true));
        assert_eq!(cache.insert(&ann, "key", "2", 100, 160), Err(Full::Account));
        assert_eq!(cache.insert(&other, "key", "2", 100, 160), Ok(false));
    }

    #[test]
    fn a_full_cache_forgets_nothing_and_admits_no_more() {
        let cache = ReplayCache::new(100, 10);
        for number in 0..100 {
            let account = account(&(number / 10).to_string());
            let jti = number.to_string();
            assert_eq!(cache.insert(&account, "key", &jti, 100, 160), Ok(true));
        }
        let ann = account("ann");
        assert_eq!(cache.insert(&ann, "key", "1", 100, 160), Err(Full::Total));
        assert_eq!(cache.insert(&account("0"), "key", "0", 100, 160), Ok(false));
        // What others have used makes room too, once it has expired.
        assert_eq!(cache.insert(&ann, "key", "1", 168, 228), Ok(true));
        assert_eq!(cache.total.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn an_account_can_make_nine_hundred_requests_in_each_second() {
        let (cache, ann) = (ReplayCache::default(), account("ann"));
        for number in 0..200_000_u64 {
            let now = number / 900;
            let inserted = cache.insert(&ann, "key", &number.to_string(), now, now + 61);
            assert_eq!(inserted, Ok(true), "{number}");
        }
    }
}
