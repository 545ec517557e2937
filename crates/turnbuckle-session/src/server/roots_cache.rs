//! The roots of a legacy client, kept until the client says that they have changed.

use std::sync::{Mutex, MutexGuard, PoisonError};

use turnbuckle_types::Json;

use crate::shared::memory_budget::{MemoryAccount, MemoryPermit};

/// The largest answer to `roots/list` that is kept, in bytes.
const MAX_ROOTS_BYTES: usize = 64 * 1024;

/// The last answer of a legacy client to `roots/list`.
#[derive(Debug, Default)]
pub struct RootsCache(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of changes that the client notified of.
    version: u64,
    /// Most sessions keep none.
    answer: Option<Box<(Json, MemoryPermit)>>,
}

impl RootsCache {
    /// Returns the answer, if one is kept.
    #[must_use]
    pub fn get(&self) -> Option<Json> {
        let state = self.lock();
        state.answer.as_ref().map(|kept| kept.0.clone())
    }

    /// Returns the number of changes so far, for [`Peer::cache_roots`](crate::handler::Peer::cache_roots).
    #[must_use]
    pub fn version(&self) -> u64 {
        self.lock().version
    }

    /// Keeps an answer to a request that was sent at this version; it counts on the account. An answer
    /// that is older than the last change, has more than 64 KiB or finds no memory is not kept.
    pub(crate) fn insert(&self, version: u64, answer: &Json, account: &MemoryAccount) {
        let bytes = answer.as_str().len();
        if bytes > MAX_ROOTS_BYTES {
            return;
        }
        let Ok(memory) = account.reserve_free(bytes) else {
            return;
        };
        let mut state = self.lock();
        if state.version == version {
            state.answer = Some(Box::new((answer.clone(), memory)));
        }
    }

    /// Drops the answer, since the client notified of a change.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.version += 1;
        state.answer = None;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::limits::Limits;
    use crate::shared::memory_budget::MemoryBudget;

    fn account() -> MemoryAccount {
        let limits = Limits::new().max_owner_bytes(MAX_ROOTS_BYTES);
        MemoryBudget::new(&limits).new_account()
    }

    fn answer(bytes: usize) -> Json {
        Json::encode(&"r".repeat(bytes - 2)).unwrap()
    }

    #[test]
    fn an_answer_that_is_older_than_a_change_is_not_kept() {
        let cache = RootsCache::default();
        let before = cache.version();
        cache.insert(before, &answer(8), &account());
        assert_eq!(cache.get(), Some(answer(8)));
        cache.clear();
        assert_eq!(cache.get(), None);
        cache.insert(before, &answer(8), &account());
        assert_eq!(cache.get(), None);
    }

    #[test]
    fn an_answer_over_the_bound_is_not_kept() {
        let cache = RootsCache::default();
        cache.insert(0, &answer(MAX_ROOTS_BYTES + 1), &account());
        assert_eq!(cache.get(), None);
        cache.insert(0, &answer(MAX_ROOTS_BYTES), &account());
        assert!(cache.get().is_some());
    }
    #[test]
    fn an_answer_counts_for_its_client_for_as_long_as_it_is_kept() {
        let (cache, account) = (RootsCache::default(), account());
        cache.insert(0, &answer(MAX_ROOTS_BYTES), &account);
        assert_eq!(account.used(), MAX_ROOTS_BYTES);
        let other = RootsCache::default();
        other.insert(0, &answer(8), &account);
        assert_eq!(other.get(), None, "there is no memory for it");
        cache.clear();
        assert_eq!(account.used(), 0);
    }
}
