//! The index: its lock, and the marks of its entries.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use git2::{Index, IndexEntry, IndexEntryExtendedFlag, IndexEntryFlag, Oid, Repository};

use crate::fault::{Fault, Result};

/// The mode of a submodule.
pub(super) const SUBMODULE_MODE: u32 = 0o160_000;

/// The bits of [`IndexEntry::flags`] with the stage of a conflict.
pub(super) const STAGE_FLAGS: u16 = 0x3000;

/// The time for which a call waits for another process that has the lock.
const LOCK_TIMEOUT: Duration = Duration::from_millis(500);

/// The time between two tries to take the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// An index without entries: its header, and the SHA-1 of that.
const EMPTY_INDEX: [u8; 32] = *b"DIRC\0\0\0\x02\0\0\0\0\
    \x39\xd8\x90\x13\x9e\xe5\x35\x6c\x7e\xf5\x72\x21\x6c\xeb\xcd\x27\xaa\x41\xf9\xdf";

/// The lock of the index: the file `index.lock`, as git has it. libgit2 takes it only to write, so that what another
/// process writes after it read the index would be lost.
pub(super) struct IndexLock<'r> {
    repository: &'r Repository,
    index_path: PathBuf,
    lock_path: PathBuf,
    is_held: bool,
}

impl<'r> IndexLock<'r> {
    /// Takes the lock, and copies the index into its file.
    pub(super) fn take(repository: &'r Repository) -> Result<Self> {
        let index_path = repository.path().join("index");
        let lock_path = repository.path().join("index.lock");
        let give_up = Instant::now() + LOCK_TIMEOUT;
        let mut file = loop {
            match File::create_new(&lock_path) {
                Ok(file) => break file,
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.into()),
                Err(_) if Instant::now() < give_up => thread::sleep(LOCK_INTERVAL),
                Err(_) => {
                    return Err(Fault::new(format!(
                        "{} exists, since another process of git changes the repository: try again. Remove the file \
                         if there is no such process",
                        lock_path.display()
                    )));
                }
            }
        };
        let lock = Self {
            repository,
            index_path,
            lock_path,
            is_held: true,
        };
        match File::open(&lock.index_path) {
            Ok(mut index) => {
                io::copy(&mut index, &mut file)?;
                // Files as new as the index may have changed since it was written.
                file.set_modified(index.metadata()?.modified()?)?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => file.write_all(&EMPTY_INDEX)?,
            Err(error) => return Err(error.into()),
        }
        Ok(lock)
    }

    /// Reads the index.
    pub(super) fn index(&self) -> Result<Index> {
        let mut index = self.repository.index()?;
        index.read(true)?;
        Ok(index)
    }

    /// Makes entries the index. Returns false, and writes nothing, if the index has them.
    pub(super) fn write(mut self, entries: &[IndexEntry]) -> Result<bool> {
        // It belongs to no repository yet, so objects of entries may be missing, as in a partial clone.
        let mut index = Index::open(&self.lock_path)?;
        let before: HashMap<_, _> = index
            .iter()
            .map(|entry| (key(&entry), content(&entry)))
            .collect();
        let keys: HashSet<_> = entries.iter().map(key).collect();
        let removed: Vec<_> = before.keys().filter(|key| !keys.contains(*key)).collect();
        let changed = entries
            .iter()
            .filter(|entry| before.get(&key(entry)) != Some(&content(entry)));
        let changed: Vec<_> = changed.collect();
        if removed.is_empty() && changed.is_empty() {
            return Ok(false);
        }
        for (path, stage) in removed {
            index.remove(
                &to_path(path)?,
                i32::from(stage >> STAGE_FLAGS.trailing_zeros()),
            )?;
        }
        for entry in changed {
            index.add(entry)?;
        }
        // To compare files that are as new as the index, libgit2 needs the repository.
        self.repository.set_index(&mut index)?;
        index.write()?;
        fs::rename(&self.lock_path, &self.index_path)?;
        self.is_held = false;
        Ok(true)
    }
}

impl Drop for IndexLock<'_> {
    fn drop(&mut self) {
        if self.is_held {
            let _ = fs::remove_file(&self.lock_path);
        }
    }
}

/// Returns the path of an entry and the stage of its conflict, of which an index has one entry.
fn key(entry: &IndexEntry) -> (Vec<u8>, u16) {
    (entry.path.clone(), entry.flags & STAGE_FLAGS)
}

/// Returns what an entry says of a file, but not the times and the size by which changes are found.
fn content(entry: &IndexEntry) -> (Oid, u32, bool, bool, bool) {
    (
        entry.id,
        entry.mode,
        flags(entry).is_valid(),
        extended_flags(entry).is_skip_worktree(),
        is_intent_to_add(entry),
    )
}

/// Returns the entry of a path. [`Index::get_path`] panics for paths that no entry can have.
pub(super) fn find_entry(index: &Index, path: &Path, stage: i32) -> Option<IndexEntry> {
    let is_plain = |component| matches!(component, Component::Normal(_));
    let is_path = !path.as_os_str().is_empty()
        && path.components().all(is_plain)
        && !path.as_os_str().as_encoded_bytes().contains(&0);
    is_path.then(|| index.get_path(path, stage)).flatten()
}

/// Tells whether the work tree does not matter for an entry: it is marked as unchanged by `git update-index`, or outside
/// of a sparse checkout.
pub(super) fn is_assumed_unchanged(entry: &IndexEntry) -> bool {
    flags(entry).is_valid() || extended_flags(entry).is_skip_worktree()
}

/// Marks an entry as [assumed unchanged](is_assumed_unchanged) in the way in which another one is.
pub(super) fn copy_marks(from: &IndexEntry, entry: &mut IndexEntry) {
    entry.flags |= from.flags & IndexEntryFlag::VALID.bits();
    entry.flags_extended |= from.flags_extended & IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
}

/// Tells whether an entry is only a mark of `git add -N` for a file that is to be added.
pub(super) fn is_intent_to_add(entry: &IndexEntry) -> bool {
    extended_flags(entry).is_intent_to_add()
}

fn flags(entry: &IndexEntry) -> IndexEntryFlag {
    IndexEntryFlag::from_bits_truncate(entry.flags)
}

fn extended_flags(entry: &IndexEntry) -> IndexEntryExtendedFlag {
    IndexEntryExtendedFlag::from_bits_truncate(entry.flags_extended)
}

/// Returns the path of an entry.
#[cfg(unix)]
pub(super) fn to_path(path: &[u8]) -> Result<PathBuf> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    Ok(PathBuf::from(OsStr::from_bytes(path)))
}

/// Returns the path of an entry.
#[cfg(not(unix))]
pub(super) fn to_path(path: &[u8]) -> Result<PathBuf> {
    match str::from_utf8(path) {
        Ok(path) => Ok(PathBuf::from(path)),
        Err(_) => Err(Fault::new(format!(
            "the name of a file is not UTF-8: {}",
            String::from_utf8_lossy(path)
        ))),
    }
}
