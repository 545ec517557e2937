//! Counts the files of a directory, part by part.

use std::io;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::fs::{self, File};
use tokio::io::AsyncReadExt;
use turnbuckle::prelude::*;

/// The number of bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// The counts of a directory or of a part of it.
#[data]
#[derive(Default)]
pub(crate) struct Counts {
    /// The number of files
    pub(crate) files: u64,
    /// The number of lines in them
    pub(crate) lines: u64,
    /// The number of words in them
    pub(crate) words: u64,
    /// The number of bytes in them
    pub(crate) bytes: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.files += other.files;
        self.lines += other.lines;
        self.words += other.words;
        self.bytes += other.bytes;
    }
}

/// A directory that is counted, with a pause after each file.
pub(crate) struct Counter {
    directory: PathBuf,
    pause: Duration,
}

impl Counter {
    /// Creates a counter of a directory.
    pub(crate) fn new(directory: PathBuf, pause: Duration) -> io::Result<Self> {
        let directory = directory.canonicalize()?;
        Ok(Self { directory, pause })
    }

    /// Returns the entries of the directory in at most `count` parts, the same as long as the directory does
    /// not change.
    pub(crate) async fn parts(&self, count: usize) -> Result<Vec<Vec<PathBuf>>> {
        let mut entries = entries(&self.directory).await?;
        entries.sort();
        let size = entries.len().div_ceil(count).max(1);
        Ok(entries.chunks(size).map(<[_]>::to_vec).collect())
    }

    /// Counts the files of a part. Symbolic links are not followed, and what cannot be read is left out.
    pub(crate) async fn count(&self, part: &[PathBuf]) -> Result<Counts> {
        let mut counts = Counts::default();
        let mut left = part.to_vec();
        while let Some(path) = left.pop() {
            let Ok(metadata) = fs::symlink_metadata(&path).await else {
                continue;
            };
            if metadata.is_dir() {
                left.extend(entries(&path).await.unwrap_or_default());
            } else if metadata.is_file()
                && let Ok(file) = count_file(&path).await
            {
                counts += file;
                tokio::time::sleep(self.pause).await;
            }
        }
        Ok(counts)
    }
}

/// Returns the paths of what is in a directory.
async fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut reading = fs::read_dir(directory).await?;
    let mut entries = Vec::new();
    while let Some(entry) = reading.next_entry().await? {
        entries.push(entry.path());
    }
    Ok(entries)
}

/// Counts a file piece by piece, so that its size does not matter.
async fn count_file(path: &Path) -> io::Result<Counts> {
    let mut file = File::open(path).await?;
    let mut counts = Counts {
        files: 1,
        ..Counts::default()
    };
    let mut piece = vec![0; CHUNK];
    let mut is_in_word = false;
    loop {
        let read = file.read(&mut piece).await?;
        if read == 0 {
            return Ok(counts);
        }
        counts.bytes += read as u64;
        for byte in &piece[..read] {
            counts.lines += u64::from(*byte == b'\n');
            let begins = !byte.is_ascii_whitespace() && !is_in_word;
            counts.words += u64::from(begins);
            is_in_word = !byte.is_ascii_whitespace();
        }
    }
}
