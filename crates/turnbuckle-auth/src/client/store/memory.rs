//! A credential store in the memory of the process.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::key_mutex::KeyMutexes;
use super::{
    BoxFuture, CredentialStore, LOCK_TIMEOUT, MAX_VALUES, StoreLock, check_key, check_value,
    lock_timed_out, too_many_values,
};
use crate::error::AuthError;
use crate::secret::Secret;

/// A credential store in the memory of the process. Clones share their contents.
///
/// The user logs in again whenever the program starts.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Inner>);

#[derive(Default)]
struct Inner {
    values: Mutex<HashMap<String, Secret>>,
    locks: KeyMutexes,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn values(&self) -> MutexGuard<'_, HashMap<String, Secret>> {
        self.0.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CredentialStore for MemoryStore {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(async move {
            check_key(key)?;
            Ok(self.values().get(key).cloned())
        })
    }

    fn save<'a>(&'a self, key: &'a str, value: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(async move {
            check_key(key)?;
            check_value(key, value)?;
            let mut values = self.values();
            if values.len() >= MAX_VALUES && !values.contains_key(key) {
                return Err(too_many_values("the memory store"));
            }
            values.insert(key.to_owned(), value.clone());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(async move {
            check_key(key)?;
            self.values().remove(key);
            Ok(())
        })
    }

    fn keys(&self) -> BoxFuture<'_, Result<Vec<String>, AuthError>> {
        Box::pin(async move { Ok(self.values().keys().cloned().collect()) })
    }

    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<StoreLock, AuthError>> {
        Box::pin(async move {
            check_key(key)?;
            match tokio::time::timeout(LOCK_TIMEOUT, self.0.locks.lock(key)).await {
                Ok(guard) => Ok(StoreLock::new(guard)),
                Err(_) => Err(lock_timed_out(key, "another task of this process")),
            }
        })
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("values", &self.values().len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::AuthErrorKind;

    #[tokio::test(start_paused = true)]
    async fn a_lock_that_is_never_released_times_out() {
        let store = MemoryStore::new();
        let _held = store.lock("a").await.unwrap();
        let error = store.lock("a").await.unwrap_err();
        assert_eq!(error.kind(), AuthErrorKind::StoreLocked);
        assert!(error.to_string().contains("60 s"), "{error}");
    }

    #[tokio::test]
    async fn the_number_of_values_is_bounded() {
        let store = MemoryStore::new();
        let value = Secret::new("v");
        for index in 0..MAX_VALUES {
            store.save(&format!("k{index}"), &value).await.unwrap();
        }
        store.save("k0", &value).await.unwrap();
        let error = store.save("one more", &value).await.unwrap_err();
        assert_eq!(error.kind(), AuthErrorKind::StoreLimit);
    }

    #[tokio::test]
    async fn debug_shows_no_value() {
        let store = MemoryStore::new();
        store.save("key", &Secret::new("hunter2")).await.unwrap();
        assert!(!format!("{store:?}").contains("hunter2"));
    }
}
