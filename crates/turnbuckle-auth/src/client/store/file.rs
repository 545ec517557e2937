//! A credential store in a directory of files.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use zeroize::Zeroizing;

use super::envelope::{self, Cipher, KEY_BYTES, MAX_ENVELOPE_BYTES, MAX_HEADER_BYTES};
use super::file_lock::{FileLocks, run_blocking};
use super::private_dir::{PrivateDir, TEMPORARY_SUFFIX, io_error, quote_path, user_data_dir};
use super::{
    BoxFuture, CredentialStore, MAX_VALUES, StoreLock, check_key, check_value, too_many_values,
};
use crate::error::{AuthError, AuthErrorKind};
use crate::secret::Secret;

/// The ending of the files that hold a value.
const VALUE_SUFFIX: &str = ".credential";

/// The name of the lock that each write holds.
const WRITE_LOCK: &str = "write";

/// A credential store in a directory of files, for all programs of one user.
///
/// Each value is a file that only the user can read (mode 0600 in a directory of mode 0700 on Unix).
/// The store refuses a directory or file that belongs to another user or that others can access. A
/// write goes to a temporary file that then replaces the old one, so that a crash leaves the old or
/// the new value. Locks are locks of the operating system on separate files and end with their
/// process. The values are not encrypted, unless the store is [opened](Self::open_encrypted) with a key.
///
/// At most [`MAX_VALUES`] values. Clones share the directory; so do several stores of one directory.
/// The asynchronous functions need a tokio runtime with time enabled.
#[derive(Debug, Clone)]
pub struct FileStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dir: PrivateDir,
    locks: FileLocks,
    /// Held by each write of this process. The file lock `WRITE_LOCK` excludes other processes.
    writing: Mutex<()>,
    /// The cipher of the values. `None`: they are not encrypted.
    cipher: Option<Cipher>,
}

impl FileStore {
    /// Opens the store in a directory, and creates the directory if there is none.
    ///
    /// The function blocks while it reads the directory.
    ///
    /// # Errors
    /// Fails when the directory cannot be created or written, belongs to another user, or can be
    /// accessed by others. The error names the command that mends it.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, AuthError> {
        Self::open_with(dir.into(), |_| Ok(None))
    }

    /// Opens the store in a directory, whose values are encrypted with XChaCha20-Poly1305 under a key.
    /// Their names, such as the URLs of servers, are not.
    ///
    /// A value that was saved with another key, or without one, cannot be loaded.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_encrypted(
        dir: impl Into<PathBuf>,
        key: &[u8; KEY_BYTES],
    ) -> Result<Self, AuthError> {
        let cipher = Cipher::new(key);
        Self::open_with(dir.into(), |_| Ok(Some(cipher)))
    }

    /// Opens the store in a directory. `find_cipher` is called while no other process writes; it is
    /// told whether the directory has values.
    pub(super) fn open_with(
        dir: PathBuf,
        find_cipher: impl FnOnce(bool) -> Result<Option<Cipher>, AuthError>,
    ) -> Result<Self, AuthError> {
        let dir = PrivateDir::open(dir)?;
        let locks = FileLocks::new(dir.subdirectory("locks")?);
        let mut inner = Inner {
            dir,
            locks,
            writing: Mutex::default(),
            cipher: None,
        };
        let mut cipher = None;
        inner.write(|| {
            inner.dir.remove_leftovers()?;
            let names = inner.dir.file_names(VALUE_SUFFIX, 0)?;
            cipher = find_cipher(names.is_none())?;
            Ok(())
        })?;
        inner.cipher = cipher;
        Ok(Self(Arc::new(inner)))
    }

    /// Opens the store of the user who runs the program.
    ///
    /// Its directory is `turnbuckle/credentials` in `$XDG_DATA_HOME` or `~/.local/share` (Linux and
    /// other Unix), `~/Library/Application Support` (macOS) or `%LOCALAPPDATA%` (Windows).
    ///
    /// # Errors
    /// As [`open`](Self::open), and when the user has no home directory.
    pub fn user() -> Result<Self, AuthError> {
        Self::open(Self::user_dir()?)
    }

    /// Returns the directory of [`user`](Self::user), which need not exist.
    ///
    /// # Errors
    /// Fails when the user has no home directory.
    pub fn user_dir() -> Result<PathBuf, AuthError> {
        Ok(user_data_dir()?.join("credentials"))
    }

    /// Returns the directory of the store.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.0.dir.path()
    }

    /// Runs a write of a key on a thread for blocking work.
    async fn write_key(
        &self,
        key: &str,
        write: impl FnOnce(&Inner, &str) -> Result<(), AuthError> + Send + 'static,
    ) -> Result<(), AuthError> {
        let name = envelope::name_of_key(key);
        let held = self.0.locks.held(&name);
        let inner = Arc::clone(&self.0);
        run_blocking(move || {
            let result = inner.write(|| write(&inner, &name));
            drop(held);
            result
        })
        .await
    }
}

impl Inner {
    /// Runs a write while no other task or process writes.
    fn write(&self, write: impl FnOnce() -> Result<(), AuthError>) -> Result<(), AuthError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let _lock = self.locks.lock_blocking(WRITE_LOCK, "all keys")?;
        self.dir.check()?;
        write()
    }

    fn load(&self, key: &str) -> Result<Option<Secret>, AuthError> {
        self.dir.check()?;
        let name = format!("{}{VALUE_SUFFIX}", envelope::name_of_key(key));
        let Some(file) = self.dir.open_file(&name)? else {
            return Ok(None);
        };
        let bytes = self.read(&name, &file, MAX_ENVELOPE_BYTES)?;
        match envelope::decode_value(key, &bytes, self.cipher.as_ref()) {
            Ok(value) => Ok(Some(value)),
            Err(reason) => Err(self.corrupt(&name, &reason)),
        }
    }

    /// Replaces the value of a key. The caller holds the write lock.
    fn save(&self, name: &str, key: &str, value: &Secret) -> Result<(), AuthError> {
        let value_name = format!("{name}{VALUE_SUFFIX}");
        let temporary_name = format!(".{name}{TEMPORARY_SUFFIX}");
        let bytes = envelope::encode(key, value, self.cipher.as_ref())
            .map_err(|reason| AuthError::new(AuthErrorKind::Store, reason))?;
        let exists = self.dir.file_path(&value_name).exists();
        if !exists && self.value_names()?.len() >= MAX_VALUES {
            return Err(self.too_many_values());
        }
        self.dir.remove_file(&temporary_name)?;
        let written = self.write_file(&temporary_name, &bytes);
        let renamed = written.and_then(|()| self.dir.rename(&temporary_name, &value_name));
        if let Err(error) = renamed {
            // The first error counts; what stays is removed when the store is opened.
            let _ = self.dir.remove_file(&temporary_name);
            return Err(error);
        }
        self.dir.sync()
    }

    /// Removes the value of a key. The caller holds the write lock.
    fn remove(&self, name: &str) -> Result<(), AuthError> {
        self.dir.remove_file(&format!("{name}{VALUE_SUFFIX}"))?;
        self.dir.sync()
    }

    fn keys(&self) -> Result<Vec<String>, AuthError> {
        self.dir.check()?;
        let mut keys = Vec::new();
        for name in self.value_names()? {
            // Removed since the directory was listed.
            let Some(file) = self.dir.open_file(&name)? else {
                continue;
            };
            let file_bytes = self.check_length(&name, &file, MAX_ENVELOPE_BYTES)?;
            let bytes = self.read_start(&name, &file, MAX_HEADER_BYTES.min(file_bytes))?;
            match envelope::decode_key(&bytes) {
                Ok(key) => keys.push(key),
                Err(reason) => return Err(self.corrupt(&name, &reason)),
            }
        }
        Ok(keys)
    }

    fn value_names(&self) -> Result<Vec<String>, AuthError> {
        let names = self.dir.file_names(VALUE_SUFFIX, MAX_VALUES)?;
        names.ok_or_else(|| self.too_many_values())
    }

    fn write_file(&self, name: &str, bytes: &[u8]) -> Result<(), AuthError> {
        let mut file = self.dir.create_file(name)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        written.map_err(|error| io_error("write", &self.dir.file_path(name), error))
    }

    /// Reads a whole file of at most `max_bytes`.
    fn read(
        &self,
        name: &str,
        file: &File,
        max_bytes: usize,
    ) -> Result<Zeroizing<Vec<u8>>, AuthError> {
        let length = self.check_length(name, file, max_bytes)?;
        self.read_start(name, file, length)
    }

    /// Reads the first `length` bytes of a file.
    fn read_start(
        &self,
        name: &str,
        mut file: &File,
        length: usize,
    ) -> Result<Zeroizing<Vec<u8>>, AuthError> {
        // In full from the start: growth would leave copies of the secret in freed memory.
        let mut bytes = Zeroizing::new(vec![0; length]);
        let result = file.read_exact(&mut bytes);
        result.map_err(|error| io_error("read", &self.dir.file_path(name), error))?;
        Ok(bytes)
    }

    /// Returns the length of a file of at most `max_bytes`.
    fn check_length(&self, name: &str, file: &File, max_bytes: usize) -> Result<usize, AuthError> {
        let path = self.dir.file_path(name);
        let metadata = file.metadata().map_err(|e| io_error("read", &path, e))?;
        match usize::try_from(metadata.len()) {
            Ok(length) if length <= max_bytes => Ok(length),
            _ => {
                let reason = format!(
                    "it has {} bytes, at most {max_bytes} are valid",
                    metadata.len()
                );
                Err(self.corrupt(name, &reason))
            }
        }
    }

    fn corrupt(&self, name: &str, reason: &str) -> AuthError {
        let path = quote_path(&self.dir.file_path(name));
        let message = format!("{path} is damaged: {reason}; run: rm {path} and log in again");
        AuthError::new(AuthErrorKind::StoreCorrupt, message)
    }

    fn too_many_values(&self) -> AuthError {
        too_many_values(&quote_path(self.dir.path()))
    }
}

impl CredentialStore for FileStore {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(async move {
            check_key(key)?;
            let inner = Arc::clone(&self.0);
            let key = key.to_owned();
            run_blocking(move || inner.load(&key)).await
        })
    }

    fn save<'a>(&'a self, key: &'a str, value: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(async move {
            check_key(key)?;
            check_value(key, value)?;
            let value = value.clone();
            let owned_key = key.to_owned();
            self.write_key(key, move |inner, name| inner.save(name, &owned_key, &value))
                .await
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(async move {
            check_key(key)?;
            self.write_key(key, Inner::remove).await
        })
    }

    fn keys(&self) -> BoxFuture<'_, Result<Vec<String>, AuthError>> {
        Box::pin(async move {
            let inner = Arc::clone(&self.0);
            run_blocking(move || inner.keys()).await
        })
    }

    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<StoreLock, AuthError>> {
        Box::pin(async move {
            check_key(key)?;
            let name = envelope::name_of_key(key);
            Ok(StoreLock::new(self.0.locks.lock(&name, key).await?))
        })
    }
}

#[cfg(test)]
mod tests;
