//! The followers of one endpoint: clients that have come back for streams of other instances.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use tokio::sync::Notify;
use turnbuckle_store::StoreKey;

/// The clients that have come back here for streams of other instances, by the key of the log.
#[derive(Default)]
pub(super) struct Followers(Mutex<HashMap<StoreKey, Arc<FollowerSignal>>>);

/// The signal to a follower that its stream has grown, or that its client is somewhere else.
#[derive(Debug, Default)]
pub(super) struct FollowerSignal {
    changed: Notify,
    is_taken: AtomicBool,
}

impl FollowerSignal {
    /// Waits until there is something to look at.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn take(&self) {
        self.is_taken.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// Returns whether the client is somewhere else.
    pub(super) fn is_taken(&self) -> bool {
        self.is_taken.load(Ordering::Acquire)
    }
}

impl Followers {
    fn by_key(&self) -> MutexGuard<'_, HashMap<StoreKey, Arc<FollowerSignal>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers the follower of a stream. It takes the place of another one.
    pub(super) fn register(&self, key: &StoreKey) -> Arc<FollowerSignal> {
        let signal = Arc::<FollowerSignal>::default();
        let before = self.by_key().insert(key.clone(), signal.clone());
        if let Some(before) = before {
            before.take();
        }
        signal
    }

    /// Removes a follower, unless another one has its place.
    pub(super) fn remove(&self, key: &StoreKey, signal: &Arc<FollowerSignal>) {
        let mut by_key = self.by_key();
        if by_key.get(key).is_some_and(|it| Arc::ptr_eq(it, signal)) {
            by_key.remove(key);
        }
    }

    /// Signals to the follower of a stream. Returns whether there is one.
    pub(super) fn signal(&self, key: &str, is_taken: bool) -> bool {
        let Ok(key) = StoreKey::new(key) else {
            return false;
        };
        let Some(signal) = self.by_key().get(&key).cloned() else {
            return false;
        };
        match is_taken {
            true => signal.take(),
            false => signal.changed.notify_one(),
        }
        true
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.by_key().len()
    }
}
