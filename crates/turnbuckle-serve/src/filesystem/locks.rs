//! Locks on the files that calls change, so that reading, changing and replacing one is a single step.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::access::Location;
use super::limits::Budget;
use crate::fault::{Fault, Result};

/// The files that calls of this server are changing.
#[derive(Default)]
pub(super) struct FileLocks {
    held: Mutex<HashSet<PathBuf>>,
    released: Condvar,
}

/// Files that no other call changes until this is dropped.
pub(super) struct FileGuard<'l> {
    locks: &'l FileLocks,
    paths: Vec<PathBuf>,
}

impl FileLocks {
    /// Waits until no other call changes one of these files, at most for the time of the call. All are locked at once, so
    /// that two calls never wait for each other.
    pub(super) fn lock(
        &self,
        locations: &[&Location<'_>],
        budget: &Budget,
    ) -> Result<FileGuard<'_>> {
        let paths: Vec<_> = locations.iter().map(|location| location.path()).collect();
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = budget.deadline.saturating_duration_since(Instant::now());
        let is_held = |held: &mut HashSet<PathBuf>| paths.iter().any(|path| held.contains(path));
        let waited = self.released.wait_timeout_while(held, rest, is_held);
        let (mut held, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            let paths: Vec<_> = paths
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            return Err(Fault::new(format!(
                "another call is still changing {}: try again later",
                paths.join(" or ")
            )));
        }
        held.extend(paths.iter().cloned());
        Ok(FileGuard { locks: self, paths })
    }
}

impl Drop for FileGuard<'_> {
    fn drop(&mut self) {
        let mut held = self
            .locks
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for path in &self.paths {
            held.remove(path);
        }
        drop(held);
        self.locks.released.notify_all();
    }
}
