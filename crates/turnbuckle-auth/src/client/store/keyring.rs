//! A credential store whose values are encrypted under a key in the keyring of the operating system.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use keyring::{Entry, Error};
use turnbuckle_types::base::random;
use zeroize::Zeroizing;

use super::envelope::{Cipher, KEY_BYTES, name_of_key};
use super::private_dir::{quote_path, user_data_dir};
use super::{BoxFuture, CredentialStore, FileStore, StoreLock};
use crate::error::{AuthError, AuthErrorKind};
use crate::secret::Secret;

/// The longest time that the keyring has for an answer: the user may have to unlock it.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// The name of the item that holds the key. Each service has its own.
const ITEM_NAME: &str = "encryption-key";

/// A credential store in files, encrypted under a key in the keyring of the operating system.
///
/// The keyring is the Secret Service (GNOME Keyring, KWallet) on Linux and other Unix, the Keychain
/// on macOS, and the Credential Manager on Windows. The system can ask the user to unlock it. It holds
/// one random key for each service.
///
/// The values are in the user's data directory, as those of [`FileStore::user`], in a directory for
/// each service, and are encrypted with XChaCha20-Poly1305. Their keys, such as the URLs of servers,
/// are not. Clones share the directory.
#[derive(Debug, Clone)]
pub struct KeyringStore(FileStore);

impl KeyringStore {
    /// Opens the store. `service` names the application in the keyring, for instance `my-app`.
    ///
    /// The function blocks while it connects to the keyring and reads the directory.
    ///
    /// # Errors
    /// Fails when there is no keyring, when it does not answer within two minutes, when the directory cannot be used, and when the directory has
    /// values but the keyring has no key for them. The error says what to do.
    pub fn open(service: impl Into<String>) -> Result<Self, AuthError> {
        let service = service.into();
        let directory = user_data_dir()?.join("keyring").join(name_of_key(&service));
        open(directory, Arc::new(SystemKeyring { service }), MAX_WAIT).map(Self)
    }
}

/// The item of a keyring that holds the key.
trait KeyItem: Send + Sync + 'static {
    fn read(&self) -> Result<Option<Zeroizing<Vec<u8>>>, AuthError>;
    fn write(&self, key: &[u8]) -> Result<(), AuthError>;
}

/// The item in the keyring of the operating system.
struct SystemKeyring {
    service: String,
}

impl SystemKeyring {
    fn entry(&self) -> Result<Entry, AuthError> {
        Entry::store_status().as_ref().map_err(|error| {
            let message = format!(
                "this system has no keyring that can be used ({error}); \
                 start its keyring service or use FileStore"
            );
            AuthError::new(AuthErrorKind::Store, message)
        })?;
        Entry::new(&self.service, ITEM_NAME).map_err(|error| failure("find", error))
    }
}

impl KeyItem for SystemKeyring {
    fn read(&self) -> Result<Option<Zeroizing<Vec<u8>>>, AuthError> {
        match self.entry()?.get_secret() {
            Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(failure("read", error)),
        }
    }

    fn write(&self, key: &[u8]) -> Result<(), AuthError> {
        let written = self.entry()?.set_secret(key);
        written.map_err(|error| failure("write", error))
    }
}

/// Opens the store in a directory whose key is an item of a keyring.
fn open(
    directory: PathBuf,
    item: Arc<dyn KeyItem>,
    max_wait: Duration,
) -> Result<FileStore, AuthError> {
    let shown = quote_path(&directory);
    let read = || {
        let item = Arc::clone(&item);
        wait_for_keyring(max_wait, move || item.read())
    };
    // Read before the directory is locked: the system may ask the user to unlock the keyring.
    let known = read()?;
    FileStore::open_with(directory, |has_values| {
        let key = match known {
            Some(known) => Some(known),
            // Another process may have made the key meanwhile.
            None => read()?,
        };
        let key = match key {
            Some(bytes) => <[u8; KEY_BYTES]>::try_from(bytes.as_slice())
                .map(Zeroizing::new)
                .map_err(|_| "the keyring's item \"encryption-key\" is damaged; remove it"),
            None if has_values => Err("the keyring has no key for the values of the store"),
            None => {
                let key = random::bytes().map(Zeroizing::new);
                let key = key.map_err(|e| AuthError::new(AuthErrorKind::Store, e.to_string()))?;
                let (item, written) = (Arc::clone(&item), key.clone());
                wait_for_keyring(max_wait, move || item.write(written.as_slice()))?;
                Ok(key)
            }
        };
        match key {
            Ok(key) => Ok(Some(Cipher::new(&key))),
            Err(reason) => {
                let message = format!("{reason}; run: rm -r {shown} and log in again");
                Err(AuthError::new(AuthErrorKind::StoreCorrupt, message))
            }
        }
    })
}

/// Runs an operation on the keyring and waits for its result for a limited time. An operation that
/// takes longer goes on in a thread of its own.
fn wait_for_keyring<T: Send + 'static>(
    max_wait: Duration,
    operation: impl FnOnce() -> Result<T, AuthError> + Send + 'static,
) -> Result<T, AuthError> {
    let failed = |reason: String| {
        let message = format!("the keyring cannot be used: {reason}");
        AuthError::new(AuthErrorKind::Store, message)
    };
    let (sender, receiver) = mpsc::sync_channel(1);
    let thread = thread::Builder::new().name("turnbuckle-keyring".to_owned());
    let started = thread.spawn(move || _ = sender.send(operation()));
    started.map_err(|error| failed(error.to_string()))?;
    receiver.recv_timeout(max_wait).unwrap_or_else(|error| {
        Err(failed(match error {
            RecvTimeoutError::Timeout => format!(
                "it did not answer within {} s; unlock it and try again, or use FileStore",
                max_wait.as_secs_f32()
            ),
            RecvTimeoutError::Disconnected => "its library panicked".to_owned(),
        }))
    })
}

/// Returns the error of an operation on the keyring, without the key.
fn failure(action: &str, error: Error) -> AuthError {
    // The text of other kinds never holds the secret; `BadEncoding` carries it in its fields.
    let reason = match error {
        Error::BadEncoding(_) | Error::BadDataFormat(..) => {
            "the item is not in the form that was expected".to_owned()
        }
        error => error.to_string(),
    };
    let message = format!("cannot {action} the item \"{ITEM_NAME}\" of the keyring: {reason}");
    AuthError::new(AuthErrorKind::Store, message)
}

impl CredentialStore for KeyringStore {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        self.0.load(key)
    }

    fn save<'a>(&'a self, key: &'a str, value: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>> {
        self.0.save(key, value)
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), AuthError>> {
        self.0.remove(key)
    }

    fn keys(&self) -> BoxFuture<'_, Result<Vec<String>, AuthError>> {
        self.0.keys()
    }

    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<StoreLock, AuthError>> {
        self.0.lock(key)
    }
}

#[cfg(test)]
mod tests;
