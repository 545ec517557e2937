//! The roots of a legacy client, kept until the client says that they have changed.

use std::sync::{Mutex, MutexGuard, PoisonError};

use turnbuckle_types::Json;

/// The largest answer to `roots/list` that is kept, in bytes.
const MAX_ROOTS_BYTES: usize = 64 * 1024;

/// The last answer of a legacy client to `roots/list`.
#[derive(Debug, Default)]
pub struct RootsCache(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of changes that the client notified of.
    version: u64,
    answer: Option<Json>,
}

impl RootsCache {
    /// Returns the answer, if one is kept.
    #[must_use]
    pub fn get(&self) -> Option<Json> {
        self.lock().answer.clone()
    }

    /// Returns the number of changes so far, for [`insert`](Self::insert).
    #[must_use]
    pub fn version(&self) -> u64 {
        self.lock().version
    }

    /// Keeps an answer to a request that was sent at this version. An answer that is older than the
    /// last change, or has more than 64 KiB, is not kept.
    pub fn insert(&self, version: u64, answer: &Json) {
        let mut state = self.lock();
        if state.version == version && answer.as_str().len() <= MAX_ROOTS_BYTES {
            state.answer = Some(answer.clone());
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

    fn answer(bytes: usize) -> Json {
        Json::encode(&"r".repeat(bytes - 2)).unwrap()
    }

    #[test]
    fn an_answer_that_is_older_than_a_change_is_not_kept() {
        let cache = RootsCache::default();
        let before = cache.version();
        cache.insert(before, &answer(8));
        assert_eq!(cache.get(), Some(answer(8)));
        cache.clear();
        assert_eq!(cache.get(), None);
        cache.insert(before, &answer(8));
        assert_eq!(cache.get(), None);
    }

    #[test]
    fn an_answer_over_the_bound_is_not_kept() {
        let cache = RootsCache::default();
        cache.insert(0, &answer(MAX_ROOTS_BYTES + 1));
        assert_eq!(cache.get(), None);
        cache.insert(0, &answer(MAX_ROOTS_BYTES));
        assert!(cache.get().is_some());
    }
}
