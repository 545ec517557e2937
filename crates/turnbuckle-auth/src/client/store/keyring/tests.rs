//! Tests of the keyring store with a keyring in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::*;

/// A keyring of one item.
#[derive(Default, Clone)]
struct TestKeyring(Arc<Mutex<Option<Vec<u8>>>>);

impl TestKeyring {
    fn open(&self, directory: &TestDir) -> Result<FileStore, AuthError> {
        open(directory.0.clone(), Arc::new(self.clone()), MAX_WAIT)
    }

    fn item(&self) -> MutexGuard<'_, Option<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyItem for TestKeyring {
    fn read(&self) -> Result<Option<Zeroizing<Vec<u8>>>, AuthError> {
        Ok(self.item().clone().map(Zeroizing::new))
    }

    fn write(&self, key: &[u8]) -> Result<(), AuthError> {
        *self.item() = Some(key.to_vec());
        Ok(())
    }
}

/// A keyring that does not answer until the test is over, or fails, or panics.
struct BrokenKeyring(Option<AuthErrorKind>, Mutex<mpsc::Receiver<()>>);

impl KeyItem for BrokenKeyring {
    fn read(&self) -> Result<Option<Zeroizing<Vec<u8>>>, AuthError> {
        match self.0 {
            Some(kind) => Err(AuthError::new(kind, "the keyring is broken")),
            None => {
                _ = self.1.lock().unwrap().recv();
                panic!("the keyring has ended");
            }
        }
    }

    fn write(&self, _: &[u8]) -> Result<(), AuthError> {
        unreachable!("the key was not read")
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
    // Values of other programs: too short, huge, no text.
    for item in [
        None,
        Some(vec![1; 31]),
        Some(vec![b'a'; 64 << 20]),
        Some(vec![0xff; 33]),
    ] {
        *keyring.item() = item;
        let error = keyring.open(&directory).unwrap_err();
        assert_eq!(error.kind(), AuthErrorKind::StoreCorrupt, "{error}");
        assert!(error.to_string().contains("rm -r "), "{error}");
    }
    *keyring.item() = Some(vec![1; 32]);
    let store = keyring.open(&directory).unwrap();
    let error = store.load("key").await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::StoreCorrupt, "{error}");
    assert!(error.to_string().contains("another key"), "{error}");
    store.remove("key").await.unwrap();
    assert!(store.load("key").await.unwrap().is_none());
}

#[tokio::test]
async fn a_keyring_that_does_not_answer_fails_or_panics_blocks_nobody() {
    let (keyring, directory) = (TestKeyring::default(), TestDir::new());
    let store = keyring.open(&directory).unwrap();
    let (sender, receiver) = mpsc::channel();
    let silent = Arc::new(BrokenKeyring(None, Mutex::new(receiver)));
    let error = open(
        directory.0.clone(),
        silent.clone(),
        Duration::from_millis(1),
    )
    .unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Store, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("within 0.001 s") && text.contains("unlock it"),
        "{text}"
    );
    // While the keyring still waits for its user, others use the directory.
    store.save("key", &Secret::new("value")).await.unwrap();
    drop(sender);
    let error = open(directory.0.clone(), silent, MAX_WAIT).unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    let (_, receiver) = mpsc::channel();
    let failing = BrokenKeyring(Some(AuthErrorKind::Store), Mutex::new(receiver));
    let error = open(directory.0.clone(), Arc::new(failing), MAX_WAIT).unwrap_err();
    assert!(error.to_string().contains("is broken"), "{error}");
    assert!(store.load("key").await.unwrap().is_some());
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
