//! Stores for credentials: registrations, tokens and keys that outlive one login.
//!
//! The OAuth client ([`crate::OAuth`]) owns the contents; a [`CredentialStore`] only keeps them. Three
//! stores come with this crate: [`MemoryStore`] for one process, [`FileStore`] for all processes of a
//! user, and `KeyringStore` (feature `keyring`) for the keyring of the operating system. An application
//! can bring its own; the crate `turnbuckle-auth-testing` tests it.

mod envelope;
mod file;
mod file_lock;
mod key_mutex;
#[cfg(feature = "keyring")]
#[cfg_attr(docsrs, doc(cfg(feature = "keyring")))]
mod keyring;
mod memory;
mod private_dir;

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

pub use file::FileStore;
#[cfg(feature = "keyring")]
pub use keyring::KeyringStore;
pub use memory::MemoryStore;

use crate::error::{AuthError, AuthErrorKind};
use crate::secret::Secret;

/// A boxed future, for traits whose implementations are chosen at run time.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The largest value that a store must accept, in bytes: 64 KiB. Larger values are refused.
pub const MAX_VALUE_BYTES: usize = 64 * 1024;

/// The longest key that a store must accept, in bytes. Longer keys and empty keys are refused.
pub const MAX_KEY_BYTES: usize = 512;

/// The number of values that a store must accept. The stores of this crate refuse more.
pub const MAX_VALUES: usize = 10_000;

/// The time that [`CredentialStore::lock`] waits before it fails.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// A store for credentials.
///
/// Keys are short texts in Unicode, of 1 to [`MAX_KEY_BYTES`] bytes; upper and lower case differ.
/// Values are secrets of at most [`MAX_VALUE_BYTES`] bytes. `store_contract::check` of the crate
/// `turnbuckle-auth-testing` tests an implementation against the rules of this trait.
///
/// `load` and `save` need no lock. For a read-modify-write, hold the key's lock around both.
pub trait CredentialStore: Send + Sync + 'static {
    /// Returns the value of a key, or `None` if there is none.
    ///
    /// # Errors
    /// Fails when the store cannot be read or the value is damaged.
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Secret>, AuthError>>;

    /// Sets the value of a key.
    ///
    /// The change is atomic: a crash at any time leaves the old or the new value. It is durable when
    /// the future returns. If the future is dropped before, the change may happen or not; it does not
    /// happen after the key's lock, if the caller holds it, goes to another caller.
    ///
    /// # Errors
    /// Fails when the key or the value is out of bounds, or the store cannot be written.
    fn save<'a>(&'a self, key: &'a str, value: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>>;

    /// Removes a key and its value. A key without a value is no error.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), AuthError>>;

    /// Returns the keys that have a value, in no particular order.
    ///
    /// # Errors
    /// Fails when the store cannot be read or holds a damaged value.
    fn keys(&self) -> BoxFuture<'_, Result<Vec<String>, AuthError>>;

    /// Waits for the exclusive lock of a key, at most [`LOCK_TIMEOUT`].
    ///
    /// The lock excludes all other callers: tasks of this process and, if the store is shared, other
    /// processes. It ends when the [`StoreLock`] is dropped or its process dies. The locks of two keys
    /// are independent. The lock is not reentrant.
    ///
    /// # Errors
    /// Fails with [`AuthErrorKind::StoreLocked`] when the time is over, or when the lock cannot be
    /// tried.
    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<StoreLock, AuthError>>;
}

/// The exclusive lock of a key in a store. Dropping the value releases the lock.
#[must_use = "the lock is released when this value is dropped"]
pub struct StoreLock(#[allow(dead_code, reason = "only its drop matters")] Box<dyn Any + Send>);

impl StoreLock {
    /// Creates a lock from a guard that releases the lock when it is dropped.
    pub fn new(guard: impl Any + Send) -> Self {
        Self(Box::new(guard))
    }
}

impl fmt::Debug for StoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreLock")
    }
}

/// Checks that a key is within the bounds of [`CredentialStore`].
fn check_key(key: &str) -> Result<(), AuthError> {
    if key.is_empty() {
        return Err(AuthError::new(
            AuthErrorKind::StoreLimit,
            "the key is empty",
        ));
    }
    if key.len() > MAX_KEY_BYTES {
        let message = format!(
            "the key has {} bytes, at most {MAX_KEY_BYTES} (MAX_KEY_BYTES) are allowed",
            key.len()
        );
        return Err(AuthError::new(AuthErrorKind::StoreLimit, message));
    }
    Ok(())
}

/// Checks that a value is within the bounds of [`CredentialStore`].
fn check_value(key: &str, value: &Secret) -> Result<(), AuthError> {
    let length = value.expose().len();
    if length > MAX_VALUE_BYTES {
        let message = format!(
            "the value of \"{}\" has {length} bytes, at most {MAX_VALUE_BYTES} (MAX_VALUE_BYTES) are allowed",
            key.escape_debug()
        );
        return Err(AuthError::new(AuthErrorKind::StoreLimit, message));
    }
    Ok(())
}

/// Returns the error of a lock that another caller held for too long.
fn lock_timed_out(key: &str, holder: &str) -> AuthError {
    let message = format!(
        "{holder} held the lock of \"{}\" for {} s; end that process or try again",
        key.escape_debug(),
        LOCK_TIMEOUT.as_secs()
    );
    AuthError::new(AuthErrorKind::StoreLocked, message)
}

/// Returns the error of a store that holds [`MAX_VALUES`] values already.
fn too_many_values(place: &str) -> AuthError {
    let message = format!(
        "{place} holds {MAX_VALUES} values (MAX_VALUES) or more; remove those that are not needed any more"
    );
    AuthError::new(AuthErrorKind::StoreLimit, message)
}
