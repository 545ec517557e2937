//! The plan of a backup: the files to copy.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// The maximum number of files of a backup.
const MAX_FILES: usize = 1_000_000;

/// The maximum depth of nested directories.
const MAX_DEPTH: usize = 64;

/// The difference between the source and the target.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The files to copy, sorted by path.
    pub(crate) missing: Vec<Missing>,
    /// The number of files that are up to date.
    pub(crate) present: usize,
    /// The number of entries that are neither files nor directories.
    pub(crate) skipped: usize,
}

/// A file to copy.
#[derive(Debug)]
pub(crate) struct Missing {
    /// The path relative to the source and to the target.
    pub(crate) path: PathBuf,
    size: u64,
}

impl Plan {
    /// Returns the number of bytes to copy.
    pub(crate) fn bytes(&self) -> u64 {
        self.missing.iter().map(|file| file.size).sum()
    }
}

/// Compares the directories. A file is up to date if its size and modification time are equal.
pub(crate) fn compare(source: &Path, target: &Path) -> io::Result<Plan> {
    let mut plan = Plan::default();
    let mut pending = vec![(PathBuf::new(), 0)];
    while let Some((directory, depth)) = pending.pop() {
        for entry in fs::read_dir(source.join(&directory))? {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            let found = entry.metadata()?;
            if found.is_dir() && depth < MAX_DEPTH {
                pending.push((path, depth + 1));
            } else if !found.is_file() {
                plan.skipped += 1;
            } else if fs::symlink_metadata(target.join(&path)).is_ok_and(|it| is_same(&it, &found))
            {
                plan.present += 1;
            } else {
                let size = found.len();
                plan.missing.push(Missing { path, size });
            }
            if plan.missing.len() + plan.present > MAX_FILES {
                let why = format!("the backup has more than {MAX_FILES} files");
                return Err(io::Error::other(why));
            }
        }
    }
    plan.missing.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(plan)
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    let times = (one.modified(), other.modified());
    one.is_file()
        && one.len() == other.len()
        && matches!(times, (Ok(one), Ok(other)) if one == other)
}
