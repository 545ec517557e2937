//! Full-text search in files.

use std::path::PathBuf;

use cap_std::fs::Dir;
use turnbuckle::prelude::*;

use crate::client_path;
use crate::grant::{Location, open_file};
use crate::read;

/// The maximum number of matches in a result.
const MAX_MATCHES: usize = 200;

/// The maximum number of files that are searched.
const MAX_FILES: usize = 20_000;

/// The maximum number of bytes that are searched.
const MAX_BYTES: usize = 512 << 20;

/// The maximum depth of nested directories.
const MAX_DEPTH: usize = 32;

/// The maximum number of characters of a line in a result.
const MAX_SHOWN: usize = 200;

/// The result of a search.
#[data]
pub(crate) struct SearchResult {
    matches: Vec<Match>,
    /// `true` if the search ended early, so that there may be more matches.
    truncated: bool,
}

/// A line that contains the text.
#[data]
struct Match {
    uri: String,
    line: usize,
    text: String,
}

/// A search in progress.
struct Search<'a, F> {
    lowercase_text: String,
    is_cancelled: &'a F,
    files: usize,
    bytes: usize,
    found: SearchResult,
}

/// Searches for a text, ignoring case, until `is_cancelled` returns true.
pub(crate) fn search(
    locations: &[Location],
    text: &str,
    is_cancelled: impl Fn() -> bool,
) -> SearchResult {
    let mut search = Search {
        lowercase_text: text.to_lowercase(),
        is_cancelled: &is_cancelled,
        files: 0,
        bytes: 0,
        found: SearchResult {
            matches: Vec::new(),
            truncated: false,
        },
    };
    for location in locations {
        match location.dir() {
            Ok(dir) => search.walk(&dir, location.path(), 0),
            Err(_) => match location.file() {
                Ok(file) => search.search_file(file, &location.path()),
                Err(_) => continue,
            },
        }
    }
    search.found
}

impl<F: Fn() -> bool> Search<'_, F> {
    /// Searches all files below a directory. Files that cannot be read are skipped, and so are
    /// links: their targets are either searched themselves or not granted.
    fn walk(&mut self, dir: &Dir, path: PathBuf, depth: usize) {
        let Ok(entries) = dir.entries() else { return };
        for entry in entries.flatten() {
            if self.is_full() || depth == MAX_DEPTH || (self.is_cancelled)() {
                self.found.truncated = true;
                return;
            }
            let path = path.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    if let Ok(dir) = entry.open_dir() {
                        self.walk(&dir, path, depth + 1);
                    }
                }
                Ok(kind) if kind.is_file() => {
                    if let Ok(file) = open_file(dir, entry.file_name().as_ref()) {
                        self.search_file(file, &path);
                    }
                }
                _ => {}
            }
        }
    }

    fn is_full(&self) -> bool {
        self.files >= MAX_FILES
            || self.bytes >= MAX_BYTES
            || self.found.matches.len() >= MAX_MATCHES
    }

    /// Searches a file. Files that are not UTF-8 text are skipped.
    fn search_file(&mut self, file: cap_std::fs::File, path: &std::path::Path) {
        self.files += 1;
        let Ok(bytes) = read::read_bytes(file) else {
            return;
        };
        self.bytes += bytes.len();
        let Ok(text) = String::from_utf8(bytes) else {
            return;
        };
        let remaining = MAX_MATCHES - self.found.matches.len();
        let lines = text.lines().enumerate();
        let hits = lines.filter(|(_, line)| line.to_lowercase().contains(&self.lowercase_text));
        self.found
            .matches
            .extend(hits.take(remaining).map(|(index, line)| Match {
                uri: client_path::file_uri(path),
                line: index + 1,
                text: line.trim().chars().take(MAX_SHOWN).collect(),
            }));
    }
}
