//! Tests of the keyring store with a keyring in memory.

use std::collections::HashMap;
use std::path::PathBuf;

use super::*;

/// A keyring in memory that refuses items beyond a size and can fail at the n-th write.
#[derive(Clone, Default)]
struct TestKeyring(Arc<Mutex<TestKeyringState>>);

#[derive(Default)]
struct TestKeyringState {
    items: HashMap<String, Vec<u8>>,
    max_item_bytes: Option<usize>,
    writes_left: Option<usize>,
}

impl TestKeyringState {
    fn count_write(&mut self) -> Result<(), AuthError> {
        match &mut self.writes_left {
            Some(0) => Err(AuthError::new(AuthErrorKind::Store, "crashed")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Backend for TestKeyring {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, AuthError> {
        Ok(self.0.lock().unwrap().items.get(name).cloned())
    }

    fn set(&self, name: &str, bytes: &[u8]) -> Result<(), AuthError> {
        let mut state = self.0.lock().unwrap();
        state.count_write()?;
        assert!(state.max_item_bytes.is_none_or(|max| bytes.len() <= max));
        state.items.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), AuthError> {
        let mut state = self.0.lock().unwrap();
        state.count_write()?;
        state.items.remove(name);
        Ok(())
    }
}

/// A directory of locks that is removed at the end of a test.
struct LockDir(PathBuf);

impl LockDir {
    fn new() -> Self {
        let random = crate::pkce::random_token().unwrap();
        let name = format!("turnbuckle-auth-keyring-{}", random.expose());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for LockDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn store(keyring: &TestKeyring, dir: &LockDir, max_item_bytes: Option<usize>) -> KeyringStore {
    let locks = PrivateDir::open(dir.0.clone()).unwrap();
    let mut store = KeyringStore::new("test".to_owned(), keyring.clone(), locks);
    if let Some(max) = max_item_bytes {
        Arc::get_mut(&mut store.0)
            .unwrap()
            .items
            .set_max_item_bytes(max);
        keyring.0.lock().unwrap().max_item_bytes = Some(max);
    }
    store
}

#[tokio::test]
async fn a_crash_at_any_write_leaves_the_old_or_the_new_value() {
    for old_length in [10, 3_000] {
        for new_length in [20, 5_000] {
            for writes in 0..20 {
                let (keyring, dir) = (TestKeyring::default(), LockDir::new());
                let store = store(&keyring, &dir, Some(500));
                let (old, new) = ("o".repeat(old_length), "n".repeat(new_length));
                store.save("key", &Secret::new(&old)).await.unwrap();
                keyring.0.lock().unwrap().writes_left = Some(writes);
                let saved = store.save("key", &Secret::new(&new)).await;
                keyring.0.lock().unwrap().writes_left = None;
                let value = store.load("key").await.unwrap().unwrap();
                assert!(value.expose() == old || value.expose() == new);
                assert!(saved.is_err() || value.expose() == new);
                assert_eq!(store.keys().await.unwrap(), ["key"]);
                // The next write works on what the crash left.
                store.save("key", &Secret::new(&old)).await.unwrap();
                assert_eq!(store.load("key").await.unwrap().unwrap().expose(), old);
                store.remove("key").await.unwrap();
                let left: Vec<_> = keyring.0.lock().unwrap().items.keys().cloned().collect();
                assert_eq!(left, [INDEX_NAME], "after a crash at write {writes}");
            }
        }
    }
}

#[tokio::test]
async fn damaged_items_are_errors() {
    let (keyring, dir) = (TestKeyring::default(), LockDir::new());
    let store = store(&keyring, &dir, Some(500));
    store
        .save("key", &Secret::new("v".repeat(2_000)))
        .await
        .unwrap();
    let name = name_of_key("key");
    keyring
        .0
        .lock()
        .unwrap()
        .items
        .remove(&format!("{name}/0/1"))
        .unwrap();
    let error = store.load("key").await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::StoreCorrupt, "{error}");
    keyring
        .0
        .lock()
        .unwrap()
        .items
        .insert(name, b"someone else's".to_vec());
    let error = store.load("key").await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::StoreCorrupt, "{error}");
    store.remove("key").await.unwrap();
    assert!(store.load("key").await.unwrap().is_none());
}

/// Test computers have no keyring as a rule; with one, the test must not touch it.
#[test]
fn a_missing_keyring_is_an_error() {
    if let Err(error) = SystemKeyring::open("turnbuckle-auth-test".to_owned()) {
        assert_eq!(error.kind(), AuthErrorKind::Store, "{error}");
        assert!(error.to_string().contains("FileStore"), "{error}");
    }
}
