//! Tests of the contract test: it finds each fault of a store.

use turnbuckle_auth::client::store::{BoxFuture, FileStore, MemoryStore};
use turnbuckle_auth::{AuthError, AuthErrorKind};

use super::*;

/// A way to break the contract.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    LocksNothing,
    LocksAllKeysAtOnce,
    LockFailsAtOnce,
    IgnoresCase,
    TrimsValues,
    KeepsFirstValue,
    CutsLargeValues,
    RemovesNothing,
    RemoveOfNothingFails,
    ForgetsKeys,
    ListsEscapedKeys,
    AcceptsEmptyKeys,
    AcceptsAnyValue,
}

/// A store in memory with a fault.
struct Faulty {
    inner: MemoryStore,
    /// Values that the other store refuses.
    extra: std::sync::Mutex<std::collections::HashMap<String, Secret>>,
    fault: Fault,
}

impl Faulty {
    fn key(&self, key: &str) -> String {
        match self.fault {
            Fault::IgnoresCase => key.to_lowercase(),
            Fault::AcceptsEmptyKeys if key.is_empty() => "empty".to_owned(),
            _ => key.to_owned(),
        }
    }
}

impl CredentialStore for Faulty {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(async move {
            if let Some(value) = self.extra.lock().unwrap().get(key) {
                return Ok(Some(value.clone()));
            }
            self.inner.load(&self.key(key)).await
        })
    }

    fn save<'a>(&'a self, key: &'a str, value: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(async move {
            let key = self.key(key);
            let value = value.expose();
            let value = match self.fault {
                Fault::TrimsValues => value.trim_end_matches('\0'),
                Fault::CutsLargeValues => value.get(..value.len().min(2_500)).unwrap_or(value),
                Fault::KeepsFirstValue if self.inner.load(&key).await?.is_some() => return Ok(()),
                _ => value,
            };
            self.extra.lock().unwrap().remove(&key);
            if self.fault == Fault::AcceptsAnyValue && value.len() > MAX_VALUE_BYTES {
                self.extra.lock().unwrap().insert(key, Secret::new(value));
                return Ok(());
            }
            self.inner.save(&key, &Secret::new(value)).await
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(async move {
            let key = self.key(key);
            let is_absent = self.inner.load(&key).await?.is_none();
            match self.fault {
                Fault::RemovesNothing => Ok(()),
                Fault::RemoveOfNothingFails if is_absent => {
                    Err(AuthError::new(AuthErrorKind::Store, "no such key"))
                }
                _ => self.inner.remove(&key).await,
            }
        })
    }

    fn keys(&self) -> BoxFuture<'_, Result<Vec<String>, AuthError>> {
        Box::pin(async move {
            let mut keys = self.inner.keys().await?;
            match self.fault {
                Fault::ForgetsKeys => drop(keys.pop()),
                Fault::ListsEscapedKeys => {
                    keys = keys.iter().map(|key| key.replace('/', "_")).collect();
                }
                _ => {}
            }
            Ok(keys)
        })
    }

    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<StoreLock, AuthError>> {
        Box::pin(async move {
            if self.fault != Fault::AcceptsEmptyKeys && !(1..=MAX_KEY_BYTES).contains(&key.len()) {
                return Err(AuthError::new(AuthErrorKind::StoreLimit, "out of bounds"));
            }
            match self.fault {
                Fault::LocksNothing => Ok(StoreLock::new(())),
                Fault::LocksAllKeysAtOnce => self.inner.lock("all").await,
                Fault::LockFailsAtOnce => {
                    let lock = self.inner.lock(key);
                    let limit = Duration::from_millis(1);
                    tokio::time::timeout(limit, lock)
                        .await
                        .unwrap_or_else(|_| Err(AuthError::new(AuthErrorKind::StoreLocked, "held")))
                }
                _ => self.inner.lock(&self.key(key)).await,
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn each_fault_is_found() {
    for (fault, rule) in [
        (Fault::LocksNothing, "a lock is exclusive"),
        (Fault::LocksAllKeysAtOnce, "two keys are independent"),
        (Fault::LockFailsAtOnce, "lock waits for the holder"),
        (Fault::IgnoresCase, "keys that differ"),
        (Fault::TrimsValues, "load returns what save set last"),
        (Fault::KeepsFirstValue, "load returns what save set last"),
        (Fault::CutsLargeValues, "a value of MAX_VALUE_BYTES is kept"),
        (Fault::RemovesNothing, "a removed key has no value"),
        (Fault::RemoveOfNothingFails, "remove of"),
        (Fault::ForgetsKeys, "keys returns each key"),
        (Fault::ListsEscapedKeys, "keys returns each key"),
        (Fault::AcceptsEmptyKeys, "a key of 0 bytes is refused"),
        (Fault::AcceptsAnyValue, "save refuses a value"),
    ] {
        let store = Faulty {
            inner: MemoryStore::new(),
            extra: std::sync::Mutex::default(),
            fault,
        };
        let violation = check(&store)
            .await
            .expect_err(&format!("{fault:?} was not found"));
        assert!(
            violation.to_string().contains(rule),
            "{fault:?}: {violation}"
        );
    }
}

#[tokio::test]
async fn the_stores_in_memory_and_in_files_keep_the_contract() {
    check(&MemoryStore::new()).await.unwrap();
    let name = format!("turnbuckle-store-{}", random::id().unwrap());
    let directory = std::env::temp_dir().join(name);
    let store = FileStore::open(&directory).unwrap();
    check(&store).await.unwrap();
    check(&store as &dyn CredentialStore).await.unwrap();
    let encrypted = FileStore::open_encrypted(&directory, &[7; 32]).unwrap();
    check(&encrypted).await.unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}
