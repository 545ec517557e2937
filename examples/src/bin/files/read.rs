//! Reading of files with their media types, of lines, and of directories.

use std::io::{self, Read};
use std::path::Path;

use cap_std::fs::DirEntry;
use turnbuckle::prelude::*;

use crate::client_path;
use crate::grant::{Location, Tree};

/// The largest file that is read, in bytes.
pub(crate) const MAX_FILE: u64 = 4 << 20;

/// The maximum number of entries in a listing.
const MAX_ENTRIES: usize = 2000;

/// The contents of a file with its media type.
pub(crate) enum Content {
    Text(String, &'static str),
    Bytes(Vec<u8>, &'static str),
}

/// The entries of a directory.
#[data]
pub(crate) struct Listing {
    entries: Vec<Entry>,
    /// `true` if the directory has more entries.
    truncated: bool,
}

/// An entry of a directory.
#[data]
struct Entry {
    name: String,
    uri: String,
    kind: Kind,
    /// The size of a file in bytes.
    size: Option<u64>,
}

#[data(rename_all = "lowercase")]
enum Kind {
    File,
    Directory,
    Link,
    Other,
}

/// Lines of a text.
#[data]
pub(crate) struct Text {
    text: String,
    /// The number of lines in the file.
    lines: usize,
}

/// Returns the served directories.
pub(crate) fn list_grants(tree: &Tree) -> Listing {
    let entry = |path: &Path| Entry {
        name: path.display().to_string(),
        uri: client_path::file_uri(path),
        kind: Kind::Directory,
        size: None,
    };
    Listing {
        entries: tree
            .grants()
            .iter()
            .map(|grant| entry(grant.path()))
            .collect(),
        truncated: false,
    }
}

/// Returns the entries of a directory, sorted by name.
pub(crate) fn list(location: &Location) -> io::Result<Listing> {
    let path = location.path();
    let mut entries = Vec::new();
    let mut truncated = false;
    for found in location.dir()?.entries()? {
        if entries.len() == MAX_ENTRIES {
            truncated = true;
            break;
        }
        entries.extend(entry(&path, &found?));
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Listing { entries, truncated })
}

/// Returns an entry, unless its name is not UTF-8 or it is gone.
fn entry(directory: &Path, found: &DirEntry) -> Option<Entry> {
    let name = found.file_name().into_string().ok()?;
    let metadata = found.metadata().ok()?;
    let kind = match metadata.file_type() {
        kind if kind.is_file() => Kind::File,
        kind if kind.is_dir() => Kind::Directory,
        kind if kind.is_symlink() => Kind::Link,
        _ => Kind::Other,
    };
    Some(Entry {
        uri: client_path::file_uri(&directory.join(&name)),
        size: metadata.is_file().then(|| metadata.len()),
        name,
        kind,
    })
}

/// Reads a file, or lists a directory.
pub(crate) fn read(location: &Location) -> io::Result<Content> {
    if location.is_dir()? {
        let listing = serde_json::to_string_pretty(&list(location)?)?;
        return Ok(Content::Text(listing, "application/json"));
    }
    let bytes = read_bytes(location.file()?)?;
    let known = media_type(&location.path());
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Content::Text(text, known.unwrap_or("text/plain")),
        Err(error) => Content::Bytes(
            error.into_bytes(),
            known.unwrap_or("application/octet-stream"),
        ),
    })
}

/// Reads a whole file, and fails if it has more than [`MAX_FILE`] bytes.
pub(crate) fn read_bytes(file: cap_std::fs::File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        let why = format!("the file has more than {MAX_FILE} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Reads a number of lines from a start line.
pub(crate) fn read_lines(location: &Location, first: usize, count: usize) -> io::Result<Text> {
    let text = String::from_utf8(read_bytes(location.file()?)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the file is not UTF-8 text"))?;
    let skipped = first.saturating_sub(1);
    Ok(Text {
        lines: text.lines().count(),
        text: text
            .split_inclusive('\n')
            .skip(skipped)
            .take(count)
            .collect(),
    })
}

/// Returns the paths that begin with `typed`, which has no leading slash.
pub(crate) fn complete(tree: &Tree, typed: &str) -> Vec<String> {
    let typed = format!("/{typed}");
    let (directory, _) = typed.rsplit_once('/').unwrap_or_default();
    let mut found: Vec<String> = match tree.resolve(&format!("{directory}/")).map(|at| list(&at)) {
        Ok(Ok(listing)) => {
            let path = |entry: Entry| format!("{directory}/{}", entry.name);
            listing.entries.into_iter().map(path).collect()
        }
        _ => {
            let roots = tree.grants().iter().map(|grant| grant.path());
            roots.map(|path| path.display().to_string()).collect()
        }
    };
    found.retain(|path| path.starts_with(&typed));
    found
        .into_iter()
        .map(|path| path.trim_start_matches('/').to_owned())
        .collect()
}

/// Returns the media type of a file name.
fn media_type(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "css" => "text/css",
        "csv" => "text/csv",
        "gif" => "image/gif",
        "gz" => "application/gzip",
        "htm" | "html" => "text/html",
        "jpg" | "jpeg" => "image/jpeg",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "md" => "text/markdown",
        "mp3" => "audio/mpeg",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "rs" => "text/x-rust",
        "svg" => "image/svg+xml",
        "toml" => "application/toml",
        "txt" | "log" => "text/plain",
        "wasm" => "application/wasm",
        "wav" => "audio/wav",
        "webp" => "image/webp",
        "xml" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "zip" => "application/zip",
        _ => return None,
    })
}
