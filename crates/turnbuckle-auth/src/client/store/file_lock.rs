//! Locks on files, which exclude other processes and end when their process dies.

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use fs4::{FileExt, TryLockError};
use tokio::sync::OwnedMutexGuard;

use super::key_mutex::KeyMutexes;
use super::private_dir::{PrivateDir, io_error};
use super::{LOCK_TIMEOUT, lock_timed_out};
use crate::error::{AuthError, AuthErrorKind};

/// The first and the longest pause between two attempts to take a lock.
const MIN_RETRY_INTERVAL: Duration = Duration::from_millis(1);
const MAX_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Locks by name, one file per name in a directory of their own.
///
/// The files stay: to remove them safely is harder than to keep them, and they are empty.
#[derive(Debug)]
pub(super) struct FileLocks {
    dir: Arc<PrivateDir>,
    /// Tasks of this process queue here, so that at most one of them tries the file.
    mutexes: KeyMutexes,
    held: Mutex<HashMap<String, Weak<FileLock>>>,
}

/// A lock that is held. The last clone of its `Arc` releases it.
#[derive(Debug)]
pub(super) struct FileLock {
    // In this order: other processes first, then the tasks of this one.
    _file: File,
    _turn: OwnedMutexGuard<()>,
}

impl FileLocks {
    /// Creates the locks in a directory.
    pub(super) fn new(dir: PrivateDir) -> Self {
        Self {
            dir: Arc::new(dir),
            mutexes: KeyMutexes::default(),
            held: Mutex::default(),
        }
    }

    /// Waits for a lock. `name` names its file, `key` is for the error.
    pub(super) async fn lock(&self, name: &str, key: &str) -> Result<Arc<FileLock>, AuthError> {
        match tokio::time::timeout(LOCK_TIMEOUT, self.wait(name)).await {
            Ok(result) => result,
            Err(_) => Err(lock_timed_out(key, "another task or process")),
        }
    }

    /// Returns the lock of a name if a task of this process holds it.
    ///
    /// A write keeps the returned clone until the write is over. So no other process gets the lock
    /// before, even if the task that holds the lock is cancelled meanwhile.
    pub(super) fn held(&self, name: &str) -> Option<Arc<FileLock>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.get(name).and_then(Weak::upgrade)
    }

    /// Waits for a lock on the current thread.
    pub(super) fn lock_blocking(&self, name: &str, key: &str) -> Result<File, AuthError> {
        let end = Instant::now() + LOCK_TIMEOUT;
        let mut pause = MIN_RETRY_INTERVAL;
        loop {
            if let Some(file) = try_lock(&self.dir, name)? {
                return Ok(file);
            }
            if Instant::now() >= end {
                return Err(lock_timed_out(key, "another process"));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(MAX_RETRY_INTERVAL);
        }
    }

    async fn wait(&self, name: &str) -> Result<Arc<FileLock>, AuthError> {
        let turn = self.mutexes.lock(name).await;
        let mut pause = MIN_RETRY_INTERVAL;
        let file = loop {
            let dir = Arc::clone(&self.dir);
            let file_name = name.to_owned();
            if let Some(file) = run_blocking(move || try_lock(&dir, &file_name)).await? {
                break file;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_RETRY_INTERVAL);
        };
        let lock = Arc::new(FileLock {
            _file: file,
            _turn: turn,
        });
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|_, lock| lock.strong_count() > 0);
        held.insert(name.to_owned(), Arc::downgrade(&lock));
        Ok(lock)
    }
}

/// Tries to take a lock, and returns `None` if another process or file handle has it.
fn try_lock(dir: &PrivateDir, name: &str) -> Result<Option<File>, AuthError> {
    dir.check()?;
    let name = format!("{name}.lock");
    let path = dir.file_path(&name);
    let file = dir.open_lock_file(&name)?;
    match FileExt::try_lock(&file) {
        // Somebody can have removed the file since it was opened; its lock would be void.
        Ok(()) if is_at(&file, &path) => Ok(Some(file)),
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(io_error("lock", &path, error)),
    }
}

/// Returns whether an open file is the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => open.dev() == named.dev() && open.ino() == named.ino(),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &std::path::Path) -> bool {
    // An open file cannot be replaced there.
    true
}

/// Runs a function on a thread for blocking work.
pub(super) async fn run_blocking<T: Send + 'static>(
    function: impl FnOnce() -> Result<T, AuthError> + Send + 'static,
) -> Result<T, AuthError> {
    match tokio::task::spawn_blocking(function).await {
        Ok(result) => result,
        Err(_) => Err(AuthError::new(
            AuthErrorKind::Store,
            "the runtime shut down before the operation was over",
        )),
    }
}
