//! A credential store in the keyring of the operating system.

mod items;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use items::{Backend, Items, SystemKeyring};

use super::envelope::{self, name_of_key};
use super::file_lock::{FileLocks, run_blocking};
use super::private_dir::{PrivateDir, user_data_dir};
use super::{
    BoxFuture, CredentialStore, MAX_VALUES, StoreLock, check_key, check_value, too_many_values,
};
use crate::error::{AuthError, AuthErrorKind};
use crate::secret::Secret;

/// The name of the item that lists the keys. No [`name_of_key`] is like it.
const INDEX_NAME: &str = "index";

/// A credential store in the keyring of the operating system.
///
/// The keyring is the Secret Service (GNOME Keyring, KWallet) on Linux and other Unix, the Keychain
/// on macOS, and the Credential Manager on Windows. The system can ask the user to unlock it.
///
/// Keyrings have no locks, so the locks are files in the user's data directory (see
/// [`FileStore::user`](super::FileStore::user)). Values that are too large for one item of the
/// keyring are split. Clones share the keyring.
#[derive(Clone)]
pub struct KeyringStore(Arc<Inner>);

struct Inner {
    service: String,
    items: Items,
    locks: FileLocks,
    /// Held by each write of this process. A file lock excludes other processes.
    writing: Mutex<()>,
}

impl KeyringStore {
    /// Opens the keyring. `service` names the application in the keyring, for instance `my-app`.
    ///
    /// The function blocks while it connects to the keyring.
    ///
    /// # Errors
    /// Fails when there is no keyring, and when the directory of the locks cannot be used.
    pub fn open(service: impl Into<String>) -> Result<Self, AuthError> {
        let service = service.into();
        let backend = SystemKeyring::open(service.clone())?;
        let locks = PrivateDir::open(user_data_dir()?.join("keyring-locks"))?;
        Ok(Self::new(service, backend, locks))
    }

    fn new(service: String, backend: impl Backend, locks: PrivateDir) -> Self {
        Self(Arc::new(Inner {
            service,
            items: Items::new(backend),
            locks: FileLocks::new(locks),
            writing: Mutex::default(),
        }))
    }

    async fn run<T: Send + 'static>(
        &self,
        function: impl FnOnce(&Inner) -> Result<T, AuthError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let inner = Arc::clone(&self.0);
        run_blocking(move || function(&inner)).await
    }

    /// Runs a write of a key on a thread for blocking work.
    async fn write_key(
        &self,
        key: &str,
        write: impl FnOnce(&Inner) -> Result<(), AuthError> + Send + 'static,
    ) -> Result<(), AuthError> {
        let held = self.0.locks.held(&self.0.lock_name(key));
        let result = self.run(move |inner| {
            let result = inner.write(write);
            drop(held);
            result
        });
        result.await
    }
}

impl Inner {
    /// Returns the name of the lock of a key. Each service has its own.
    fn lock_name(&self, key: &str) -> String {
        name_of_key(&format!("{}\n{key}", self.service))
    }

    /// Runs a write while no other task or process writes.
    fn write(&self, write: impl FnOnce(&Self) -> Result<(), AuthError>) -> Result<(), AuthError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("write-{}", name_of_key(&self.service));
        let _lock = self.locks.lock_blocking(&name, "all keys")?;
        write(self)
    }

    fn load(&self, key: &str) -> Result<Option<Secret>, AuthError> {
        self.load_item(&name_of_key(key), key)
    }

    fn load_item(&self, name: &str, key: &str) -> Result<Option<Secret>, AuthError> {
        let Some(bytes) = self.items.read(name)? else {
            return Ok(None);
        };
        match envelope::decode_value(key, &bytes) {
            Ok(value) => Ok(Some(value)),
            Err(reason) => Err(self.corrupt(name, &reason)),
        }
    }

    /// Replaces the value of a key. The caller holds the write lock.
    fn save(&self, key: &str, value: &Secret) -> Result<(), AuthError> {
        let mut index = self.index()?;
        if !index.iter().any(|listed| listed == key) {
            if index.len() >= MAX_VALUES {
                return Err(too_many_values("the keyring"));
            }
            // First, so that a crash leaves a key without a value rather than a value without a key.
            index.push(key.to_owned());
            self.save_index(&index)?;
        }
        self.save_item(&name_of_key(key), key, value)
    }

    fn save_item(&self, name: &str, key: &str, value: &Secret) -> Result<(), AuthError> {
        let bytes = envelope::encode(key, value).map_err(|error| {
            let message = "the key cannot be written as JSON";
            AuthError::new(AuthErrorKind::StoreLimit, message).with_source(error)
        })?;
        self.items.write(name, &bytes)
    }

    /// Removes the value of a key. The caller holds the write lock.
    fn remove(&self, key: &str) -> Result<(), AuthError> {
        self.items.remove(&name_of_key(key))?;
        let mut index = self.index()?;
        let length = index.len();
        index.retain(|listed| listed != key);
        if index.len() == length {
            return Ok(());
        }
        self.save_index(&index)
    }

    fn keys(&self) -> Result<Vec<String>, AuthError> {
        let mut keys = self.index()?;
        let mut error = None;
        keys.retain(|key| match self.items.exists(&name_of_key(key)) {
            Ok(exists) => exists,
            Err(failure) => {
                error = Some(failure);
                true
            }
        });
        error.map_or(Ok(keys), Err)
    }

    fn index(&self) -> Result<Vec<String>, AuthError> {
        let Some(index) = self.load_item(INDEX_NAME, INDEX_NAME)? else {
            return Ok(Vec::new());
        };
        serde_json::from_str(index.expose())
            .map_err(|_| self.corrupt(INDEX_NAME, "it is not a list of keys"))
    }

    fn save_index(&self, keys: &[String]) -> Result<(), AuthError> {
        let index = serde_json::to_string(keys).map_err(|error| {
            let message = "the list of keys cannot be written as JSON";
            AuthError::new(AuthErrorKind::StoreLimit, message).with_source(error)
        })?;
        self.save_item(INDEX_NAME, INDEX_NAME, &Secret::new(index))
    }

    fn corrupt(&self, name: &str, reason: &str) -> AuthError {
        let message = format!(
            "the keyring's item \"{name}\" of \"{}\" is damaged: {reason}; remove it and log in again",
            self.service.escape_debug()
        );
        AuthError::new(AuthErrorKind::StoreCorrupt, message)
    }
}

impl CredentialStore for KeyringStore {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(async move {
            check_key(key)?;
            let key = key.to_owned();
            self.run(move |inner| inner.load(&key)).await
        })
    }

    fn save<'a>(&'a self, key: &'a str, value: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(async move {
            check_key(key)?;
            check_value(key, value)?;
            let (owned_key, value) = (key.to_owned(), value.clone());
            self.write_key(key, move |inner| inner.save(&owned_key, &value))
                .await
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(async move {
            check_key(key)?;
            let owned_key = key.to_owned();
            self.write_key(key, move |inner| inner.remove(&owned_key))
                .await
        })
    }

    fn keys(&self) -> BoxFuture<'_, Result<Vec<String>, AuthError>> {
        Box::pin(async move { self.run(Inner::keys).await })
    }

    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<StoreLock, AuthError>> {
        Box::pin(async move {
            check_key(key)?;
            Ok(StoreLock::new(
                self.0.locks.lock(&self.0.lock_name(key), key).await?,
            ))
        })
    }
}

impl fmt::Debug for KeyringStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyringStore")
            .field("service", &self.0.service)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
