//! The plan of a backup: the files to copy.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// The most files of a backup.
const MAX_FILES: usize = 1_000_000;

/// The deepest nesting of directories.
const MAX_DEPTH: usize = 64;

/// The work of a backup.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Files to copy, by name.
    pub(crate) missing: Vec<Missing>,
    /// Files that are there.
    pub(crate) present: usize,
    /// What is no file.
    pub(crate) left_out: usize,
}

/// A file to copy.
#[derive(Debug)]
pub(crate) struct Missing {
    /// Below source and target.
    pub(crate) path: PathBuf,
    size: u64,
}

impl Plan {
    pub(crate) fn bytes(&self) -> u64 {
        self.missing.iter().map(|file| file.size).sum()
    }
}

/// Compares the directories: a file is there if it is as long and as old.
pub(crate) fn make(source: &Path, target: &Path) -> io::Result<Plan> {
    let mut plan = Plan::default();
    let mut below = vec![(PathBuf::new(), 0)];
    while let Some((directory, depth)) = below.pop() {
        for entry in fs::read_dir(source.join(&directory))? {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            let found = entry.metadata()?;
            if found.is_dir() && depth < MAX_DEPTH {
                below.push((path, depth + 1));
            } else if !found.is_file() {
                plan.left_out += 1;
            } else if fs::symlink_metadata(target.join(&path)).is_ok_and(|it| is_same(&it, &found))
            {
                plan.present += 1;
            } else {
                let size = found.len();
                plan.missing.push(Missing { path, size });
            }
            if plan.missing.len() + plan.present > MAX_FILES {
                let why = format!("there are more than {MAX_FILES} files");
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
