//! Tests of the keyring store with a keyring in memory.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::*;

/// A keyring of one item.
#[derive(Default)]
struct TestKeyring(Mutex<Option<Vec<u8>>>);

impl TestKeyring {
    fn open(&self, directory: &TestDir) -> Result<FileStore, AuthError> {
        let item = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let write = |key: &[u8]| {
            *item() = Some(key.to_vec());
            Ok(())
        };
        open(directory.0.clone(), || Ok(item().clone()), write)
    }
}

/// A directory that is removed at the end of a test.
struct TestDir(PathBuf);

impl TestDir {
    fn new() -> Self {
        let name = format!("turnbuckle-auth-keyring-{}", random::id().unwrap());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_store_that_is_opened_again_has_the_same_key() {
    let (keyring, directory) = (TestKeyring::default(), TestDir::new());
    let value = Secret::new("v".repeat(super::super::MAX_VALUE_BYTES));
    keyring
        .open(&directory)
        .unwrap()
        .save("key", &value)
        .await
        .unwrap();
    let loaded = keyring.open(&directory).unwrap().load("key").await;
    assert_eq!(loaded.unwrap().unwrap().expose(), value.expose());
}

#[tokio::test]
async fn a_key_that_is_gone_or_another_is_an_error_that_says_what_to_do() {
    let (keyring, directory) = (TestKeyring::default(), TestDir::new());
    let store = keyring.open(&directory).unwrap();
    store.save("key", &Secret::new("value")).await.unwrap();
    for item in [None, Some(vec![1; 31])] {
        *keyring.0.lock().unwrap() = item;
        let error = keyring.open(&directory).unwrap_err();
        assert_eq!(error.kind(), AuthErrorKind::StoreCorrupt, "{error}");
        assert!(error.to_string().contains("rm -r "), "{error}");
    }
    *keyring.0.lock().unwrap() = Some(vec![1; 32]);
    let store = keyring.open(&directory).unwrap();
    let error = store.load("key").await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::StoreCorrupt, "{error}");
    assert!(error.to_string().contains("another key"), "{error}");
    store.remove("key").await.unwrap();
    assert!(store.load("key").await.unwrap().is_none());
}

/// Test computers have no keyring as a rule; with one, the test must not touch it.
#[test]
fn a_missing_keyring_is_an_error() {
    if Entry::store_status().is_err() {
        let error = KeyringStore::open("turnbuckle-auth-test").unwrap_err();
        assert_eq!(error.kind(), AuthErrorKind::Store, "{error}");
        assert!(error.to_string().contains("FileStore"), "{error}");
    }
}
