//! Finding text in files.

use std::path::PathBuf;

use cap_std::fs::Dir;
use turnbuckle::prelude::*;

use crate::grant::{Place, open_file};
use crate::place;
use crate::read;

/// The most matches that are reported.
const MAX_MATCHES: usize = 200;

/// The most files that are searched.
const MAX_FILES: usize = 20_000;

/// The most bytes that are searched.
const MAX_BYTES: usize = 512 << 20;

/// The deepest nesting of directories.
const MAX_DEPTH: usize = 32;

/// The most characters of a line that are shown.
const MAX_SHOWN: usize = 200;

/// The result of a search.
#[data]
pub(crate) struct Found {
    matches: Vec<Match>,
    /// Whether the search ended early, so that there may be more matches.
    truncated: bool,
}

/// A line that contains the text.
#[data]
struct Match {
    uri: String,
    line: usize,
    text: String,
}

struct Search<'a, F> {
    wanted: String,
    is_over: &'a F,
    files: usize,
    bytes: usize,
    found: Found,
}

/// Looks for a text, whatever its case, until `is_over` says to stop.
pub(crate) fn search(places: &[Place], text: &str, is_over: impl Fn() -> bool) -> Found {
    let mut search = Search {
        wanted: text.to_lowercase(),
        is_over: &is_over,
        files: 0,
        bytes: 0,
        found: Found {
            matches: Vec::new(),
            truncated: false,
        },
    };
    for place in places {
        match place.dir() {
            Ok(dir) => search.walk(&dir, place.path(), 0),
            Err(_) => match place.file() {
                Ok(file) => search.look(file, &place.path()),
                Err(_) => continue,
            },
        }
    }
    search.found
}

impl<F: Fn() -> bool> Search<'_, F> {
    /// Looks into everything below a directory. What cannot be read is passed over, and so are
    /// links: what they lead to is somewhere itself, or may not be seen.
    fn walk(&mut self, dir: &Dir, path: PathBuf, depth: usize) {
        let Ok(entries) = dir.entries() else { return };
        for entry in entries.flatten() {
            if self.is_full() || depth == MAX_DEPTH || (self.is_over)() {
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
                        self.look(file, &path);
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

    /// Searches a file, if it is text.
    fn look(&mut self, file: cap_std::fs::File, path: &std::path::Path) {
        self.files += 1;
        let Ok(bytes) = read::bytes(file) else { return };
        self.bytes += bytes.len();
        let Ok(text) = String::from_utf8(bytes) else {
            return;
        };
        let room = MAX_MATCHES - self.found.matches.len();
        let lines = text.lines().enumerate();
        let hits = lines.filter(|(_, line)| line.to_lowercase().contains(&self.wanted));
        self.found
            .matches
            .extend(hits.take(room).map(|(at, line)| Match {
                uri: place::uri_of(path),
                line: at + 1,
                text: line.trim().chars().take(MAX_SHOWN).collect(),
            }));
    }
}
