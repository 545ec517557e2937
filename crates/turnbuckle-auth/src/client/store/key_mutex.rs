//! Mutexes by name, for the locks of a store within one process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

/// The number of names from which on unused mutexes are removed.
const CLEANUP_THRESHOLD: usize = 64;

type AsyncMutex = tokio::sync::Mutex<()>;

/// A set of fair mutexes, one per name. A mutex exists while a task holds it or waits for it.
#[derive(Debug, Default)]
pub(super) struct KeyMutexes(Mutex<HashMap<String, Weak<AsyncMutex>>>);

impl KeyMutexes {
    /// Waits for the mutex of a name. A dropped future leaves the queue.
    pub(super) async fn lock(&self, name: &str) -> OwnedMutexGuard<()> {
        self.mutex(name).lock_owned().await
    }

    /// Returns the mutex of a name.
    fn mutex(&self, name: &str) -> Arc<AsyncMutex> {
        let mut mutexes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mutex) = mutexes.get(name).and_then(Weak::upgrade) {
            return mutex;
        }
        if mutexes.len() >= CLEANUP_THRESHOLD {
            mutexes.retain(|_, mutex| mutex.strong_count() > 0);
        }
        let mutex = Arc::new(AsyncMutex::new(()));
        mutexes.insert(name.to_owned(), Arc::downgrade(&mutex));
        mutex
    }
}
