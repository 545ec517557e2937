//! Reading of folders: names, kinds and bytes of what is in them, within bounds and without following links.
//!
//! Everything is opened relative to the handle of the folder that holds it, and never through a symbolic link, so that
//! a folder that is swapped while it is read leads nowhere else.

use std::cmp::Ordering;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, FileType, Metadata, OpenOptions};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

use super::content::{Content, Stored, media_type};
use super::limits::ServingLimits;
use super::snapshot::ServedFile;
use crate::SKILL_FILE;

/// The number of attempts to read a file that changes meanwhile.
const READS: usize = 3;

/// The age of a file's last change below which its times do not tell whether it has changed since: clocks of file systems
/// advance in steps, of two seconds on FAT.
const SETTLED: Duration = Duration::from_secs(3);

/// The contents of a folder of skills, read at one time.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Folder {
    /// The files, sorted by name; only within skills.
    pub(super) files: Vec<File>,
    /// The folders, sorted by name.
    pub(super) folders: Vec<(String, Folder)>,
    /// The entries that could not be read, and why.
    pub(super) problems: Vec<Problem>,
    /// True if there is a file `SKILL.md`.
    pub(super) is_skill: bool,
}

/// An entry of a folder that could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The name of the entry; empty for the folder itself.
    pub(super) name: String,
    pub(super) reason: String,
}

/// A file, read into memory.
#[derive(Debug)]
pub(super) struct File {
    /// The name in Unicode's normal form C.
    pub(super) name: String,
    stamp: Stamp,
    /// True if the last change was old enough when the file was read, so that the stamp tells of every later change.
    is_settled: bool,
    pub(super) served: Arc<ServedFile>,
}

impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.served, &other.served)
    }
}

/// The metadata that tell whether a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    identity: (u64, u64, i64, i64),
}

impl Stamp {
    fn new(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use cap_std::fs::MetadataExt as _;
        Self {
            size: metadata.len(),
            modified: metadata
                .modified()
                .ok()
                .map(cap_std::time::SystemTime::into_std),
            #[cfg(unix)]
            identity: (
                metadata.dev(),
                metadata.ino(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            ),
        }
    }

    fn is_settled(&self, now: SystemTime) -> bool {
        let is_old = |time: SystemTime| now.duration_since(time).is_ok_and(|age| age > SETTLED);
        #[cfg(unix)]
        let is_old_inode = u64::try_from(self.identity.2)
            .is_ok_and(|seconds| is_old(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds + 1)));
        #[cfg(not(unix))]
        let is_old_inode = true;
        is_old_inode && self.modified.is_some_and(is_old)
    }
}

/// Reads the folder at a path. `old` is what was read before: files that have not changed since are taken from there.
///
/// # Errors
/// If the folder cannot be opened.
pub(super) fn read_root(
    path: &Path,
    old: Option<&Folder>,
    budget: &mut Budget<'_>,
) -> io::Result<Folder> {
    let dir = Dir::open_ambient_dir(path, ambient_authority())?;
    Ok(Reader {
        budget,
        now: SystemTime::now(),
    }
    .read(&dir, old, 0, false))
}

/// The files and bytes that may still be read.
pub(super) struct Budget<'l> {
    limits: &'l ServingLimits,
    entries: usize,
    bytes: u64,
    skill_files: usize,
    skill_bytes: u64,
    /// True after a limit of the skill that is being read was used up.
    is_skill_full: bool,
}

impl<'l> Budget<'l> {
    pub(super) fn new(limits: &'l ServingLimits) -> Self {
        Self {
            limits,
            entries: 0,
            bytes: 0,
            skill_files: 0,
            skill_bytes: 0,
            is_skill_full: false,
        }
    }

    fn start_skill(&mut self) {
        self.skill_files = 0;
        self.skill_bytes = 0;
        self.is_skill_full = false;
    }

    /// Counts a file.
    ///
    /// # Errors
    /// If a limit is used up; the reason names it.
    fn take_file(&mut self, bytes: u64) -> Result<(), String> {
        let taken = self.count_file(bytes);
        self.is_skill_full |= taken.is_err();
        taken
    }

    fn count_file(&mut self, bytes: u64) -> Result<(), String> {
        let limits = self.limits;
        self.skill_files += 1;
        self.skill_bytes = self.skill_bytes.saturating_add(bytes);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.skill_files > limits.max_files {
            Err(format!(
                "the skill has more than {} files (ServingLimits::max_files)",
                limits.max_files
            ))
        } else if self.skill_bytes > limits.max_bytes {
            Err(format!(
                "the skill has more than {} bytes (ServingLimits::max_bytes)",
                limits.max_bytes
            ))
        } else if self.bytes > limits.max_total_bytes {
            Err(format!(
                "all skills have more than {} bytes (ServingLimits::max_total_bytes)",
                limits.max_total_bytes
            ))
        } else {
            Ok(())
        }
    }

    /// Returns the size up to which a file is worth reading.
    fn largest_file(&self) -> u64 {
        self.limits.max_bytes.min(self.limits.max_total_bytes)
    }
}

struct Reader<'b, 'l> {
    budget: &'b mut Budget<'l>,
    now: SystemTime,
}

/// An entry of a folder, by its name in normal form C.
struct Named {
    name: String,
    kind: FileType,
    entry: DirEntry,
}

impl Reader<'_, '_> {
    /// Reads a folder and the folders in it, as deep as [`ServingLimits::max_depth`].
    fn read(&mut self, dir: &Dir, old: Option<&Folder>, depth: usize, is_in_skill: bool) -> Folder {
        let mut folder = Folder::default();
        let entries = self.list(dir, &mut folder);
        folder.is_skill = entries
            .iter()
            .any(|entry| entry.name == SKILL_FILE && entry.kind.is_file());
        if !is_in_skill && folder.is_skill {
            self.budget.start_skill();
        }
        let is_in_skill = is_in_skill || folder.is_skill;
        for Named { name, kind, entry } in entries {
            let read = if kind.is_dir() {
                let old = old
                    .and_then(|old| find(&old.folders, |(folder, _)| folder, &name))
                    .map(|(_, old)| old);
                self.read_folder(dir, &entry, old, depth + 1, is_in_skill)
                    .map(|read| folder.folders.push((name.clone(), read)))
            } else if kind.is_symlink() {
                Err("is a symbolic link, which is not followed".to_owned())
            } else if !is_in_skill && name != SKILL_FILE {
                Ok(())
            } else if kind.is_file() {
                let old = old.and_then(|old| find(&old.files, |file| &file.name, &name));
                self.read_file(&entry, &name, old)
                    .map(|file| folder.files.push(file))
            } else {
                Err("is a device, a pipe or a socket".to_owned())
            };
            if let Err(reason) = read {
                folder.problems.push(Problem { name, reason });
            }
            // A skill that lacks a file is left out, so that what is left of it need not be read.
            if is_in_skill && self.budget.is_skill_full {
                break;
            }
        }
        folder
    }

    /// Lists the entries of a folder, sorted by name.
    fn list(&mut self, dir: &Dir, folder: &mut Folder) -> Vec<Named> {
        let mut entries: Vec<Named> = Vec::new();
        let fail = |name: &str, reason: String| Problem {
            name: name.to_owned(),
            reason,
        };
        let listed = match dir.entries() {
            Ok(listed) => listed,
            Err(error) => {
                folder
                    .problems
                    .push(fail("", format!("cannot be listed: {error}")));
                return entries;
            }
        };
        for entry in listed {
            self.budget.entries += 1;
            if self.budget.entries > self.budget.limits.max_total_entries {
                let max = self.budget.limits.max_total_entries;
                let reason =
                    format!("there are more than {max} entries (ServingLimits::max_total_entries)");
                folder.problems.push(fail("", reason));
                return Vec::new();
            }
            let named = entry.and_then(|entry| Ok((kind_of(&entry)?, entry)));
            let (kind, entry) = match named {
                Ok(named) => named,
                Err(error) => {
                    folder
                        .problems
                        .push(fail("", format!("cannot be listed: {error}")));
                    continue;
                }
            };
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            match name.to_str() {
                Some(name) => entries.push(Named {
                    name: normalize(name),
                    kind,
                    entry,
                }),
                None => folder.problems.push(fail(
                    &name.to_string_lossy(),
                    "has a name that is not UTF-8".to_owned(),
                )),
            }
        }
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        if let Some([twin, _]) = entries.windows(2).find_map(|pair| match pair {
            [left, right] if left.name == right.name => Some([left, right]),
            _ => None,
        }) {
            let reason = "is the name of two entries in normal form C of Unicode".to_owned();
            folder.problems.push(fail(&twin.name, reason));
        }
        entries
    }

    fn read_folder(
        &mut self,
        dir: &Dir,
        entry: &DirEntry,
        old: Option<&Folder>,
        depth: usize,
        is_in_skill: bool,
    ) -> Result<Folder, String> {
        let max = self.budget.limits.max_depth;
        if depth > max {
            return Err(format!(
                "is deeper than {max} folders (ServingLimits::max_depth)"
            ));
        }
        let inner = dir
            .open_dir_nofollow(entry.file_name())
            .map_err(|error| format!("cannot be opened: {error}"))?;
        Ok(self.read(&inner, old, depth, is_in_skill))
    }

    fn read_file(
        &mut self,
        entry: &DirEntry,
        name: &str,
        old: Option<&File>,
    ) -> Result<File, String> {
        if let Some(old) = old.filter(|old| old.is_settled) {
            let stamp = entry.metadata().map(|metadata| Stamp::new(&metadata));
            if stamp.is_ok_and(|stamp| stamp == old.stamp) {
                self.budget.take_file(old.stamp.size)?;
                return Ok(File {
                    name: name.to_owned(),
                    stamp: old.stamp,
                    is_settled: true,
                    served: old.served.clone(),
                });
            }
        }
        let (stamp, bytes) = self.read_bytes(entry)?;
        self.budget.take_file(bytes.len() as u64)?;
        let stored = Stored::new(bytes);
        let same = old.filter(|old| {
            old.served
                .content
                .as_stored()
                .is_some_and(|old| old.digest() == stored.digest())
        });
        let served = match same {
            Some(old) => old.served.clone(),
            None => {
                let content = Content::Stored(Arc::new(stored));
                Arc::new(ServedFile {
                    mime_type: media_type(name, &content),
                    content,
                })
            }
        };
        Ok(File {
            name: name.to_owned(),
            is_settled: stamp.is_settled(self.now),
            stamp,
            served,
        })
    }

    /// Reads a file whose metadata are the same before and after.
    fn read_bytes(&self, entry: &DirEntry) -> Result<(Stamp, Vec<u8>), String> {
        // Opening a pipe waits for its other end, unless told otherwise.
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let largest = self.budget.largest_file();
        let read = || -> io::Result<Option<(Stamp, Vec<u8>)>> {
            let file = entry.open_with(&options)?;
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                return Err(io::Error::other("it is no regular file"));
            }
            let before = Stamp::new(&metadata);
            if before.size > largest {
                return Err(io::Error::other(format!("it has {} bytes", before.size)));
            }
            let mut bytes = Vec::with_capacity(usize::try_from(before.size).unwrap_or(0) + 1);
            (&file).take(before.size + 1).read_to_end(&mut bytes)?;
            let is_same =
                bytes.len() as u64 == before.size && Stamp::new(&file.metadata()?) == before;
            Ok(is_same.then_some((before, bytes)))
        };
        for _ in 0..READS {
            match read() {
                Ok(Some(read)) => return Ok(read),
                Ok(None) => {}
                Err(error) => return Err(format!("cannot be read: {error}")),
            }
        }
        Err("changes while it is read".to_owned())
    }
}

/// Returns the kind of an entry, which some file systems do not tell with the name.
fn kind_of(entry: &DirEntry) -> io::Result<FileType> {
    let kind = entry.file_type()?;
    match kind.is_file() || kind.is_dir() || kind.is_symlink() {
        true => Ok(kind),
        false => Ok(entry.metadata()?.file_type()),
    }
}

/// Returns a name in normal form C, in which URIs have it on every system.
fn normalize(name: &str) -> String {
    match is_nfc_quick(name.chars()) {
        IsNormalized::Yes => name.to_owned(),
        _ => name.nfc().collect(),
    }
}

/// Finds an item by its name in a sorted list.
fn find<'i, T>(items: &'i [T], name_of: impl Fn(&T) -> &String, name: &str) -> Option<&'i T> {
    let at = items
        .binary_search_by(|item| -> Ordering { name_of(item).as_str().cmp(name) })
        .ok()?;
    items.get(at)
}
