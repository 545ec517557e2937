//! A credential store whose values are encrypted under a key in the keyring of the operating system.

use keyring::{Entry, Error};
use turnbuckle_types::base::random;
use zeroize::Zeroizing;

use super::envelope::{Cipher, KEY_BYTES, name_of_key};
use super::private_dir::{quote_path, user_data_dir};
use super::{BoxFuture, CredentialStore, FileStore, StoreLock};
use crate::error::{AuthError, AuthErrorKind};
use crate::secret::Secret;

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
    /// Fails when there is no keyring, when the directory cannot be used, and when the directory has
    /// values but the keyring has no key for them. The error says what to do.
    pub fn open(service: impl Into<String>) -> Result<Self, AuthError> {
        let service = service.into();
        Entry::store_status().as_ref().map_err(|error| {
            let message = format!(
                "this system has no keyring that can be used ({error}); \
                 start its keyring service or use FileStore"
            );
            AuthError::new(AuthErrorKind::Store, message)
        })?;
        let entry = Entry::new(&service, ITEM_NAME).map_err(|error| failure("find", error))?;
        let read = || match entry.get_secret() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(failure("read", error)),
        };
        let write = |key: &[u8]| {
            entry
                .set_secret(key)
                .map_err(|error| failure("write", error))
        };
        let directory = user_data_dir()?.join("keyring").join(name_of_key(&service));
        open(directory, read, write).map(Self)
    }
}

/// Opens the store in a directory whose key `read` and `write` have in their keyring.
fn open(
    directory: std::path::PathBuf,
    read: impl FnOnce() -> Result<Option<Vec<u8>>, AuthError>,
    write: impl FnOnce(&[u8]) -> Result<(), AuthError>,
) -> Result<FileStore, AuthError> {
    let shown = quote_path(&directory);
    FileStore::open_with(directory, |has_values| {
        let key = match read()?.map(Zeroizing::new) {
            Some(bytes) => <[u8; KEY_BYTES]>::try_from(bytes.as_slice())
                .map(Zeroizing::new)
                .map_err(|_| "the keyring's item \"encryption-key\" is damaged; remove it"),
            None if has_values => Err("the keyring has no key for the values of the store"),
            None => {
                let key = random::bytes().map(Zeroizing::new);
                let key = key.map_err(|e| AuthError::new(AuthErrorKind::Store, e.to_string()))?;
                write(key.as_slice())?;
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
