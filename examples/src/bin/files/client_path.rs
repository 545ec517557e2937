//! Parsing of the paths and `file://` URIs of clients. They are decoded exactly once, before a file
//! is opened.
//!
//! Paths with `.` or `..`, encoded or not, are refused, and so are names with a separator in them.
//! The meaning of a path therefore does not depend on the file system.

use std::io;
use std::path::{Component, Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The longest path or URI, in bytes.
const MAX_PATH: usize = 4096;

/// The longest file name, in bytes.
const MAX_NAME: usize = 255;

/// The bytes that are percent-encoded in the path of a URI: all but the slash and `pchar` (RFC
/// 3986, section 3.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/');

/// Parses an absolute path or a `file://` URI of a client.
pub(crate) fn parse_path(text: &str) -> io::Result<PathBuf> {
    if text.starts_with("file:") {
        return parse_uri(text);
    }
    check_length(text)?;
    let names = text
        .strip_prefix('/')
        .ok_or_else(|| invalid_path("the path is not absolute; it must begin with /"))?;
    join_names(names.split('/').map(|name| Ok(name.to_owned())))
}

/// Parses a `file://` URI.
pub(crate) fn parse_uri(uri: &str) -> io::Result<PathBuf> {
    check_length(uri)?;
    let path = uri.strip_prefix("file://");
    let path = path.map(|rest| rest.strip_prefix("localhost").unwrap_or(rest));
    let names = path
        .and_then(|path| path.strip_prefix('/'))
        .filter(|path| !path.contains(['?', '#']))
        .ok_or_else(|| invalid_path("the URI is not a file:// URI of this machine"))?;
    join_names(names.split('/').map(|name| {
        let decoded = percent_decode_str(name).decode_utf8();
        decoded
            .map(String::from)
            .map_err(|_| invalid_path("a name in the path is not UTF-8"))
    }))
}

/// Returns the URI of a path.
pub(crate) fn file_uri(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!("file://{}", utf8_percent_encode(&path, ENCODED))
}

/// Returns the absolute path of these names. The last one may be empty.
fn join_names(names: impl Iterator<Item = io::Result<String>>) -> io::Result<PathBuf> {
    let mut path = PathBuf::from("/");
    let mut names = names.peekable();
    while let Some(name) = names.next() {
        let name = name?;
        if name.is_empty() && names.peek().is_none() {
            break;
        }
        // A name must be a single normal component of a path: no separator, no drive, no dots.
        let mut components = Path::new(&name).components();
        let is_one = matches!(
            (components.next(), components.next()),
            (Some(Component::Normal(normal)), None) if normal.as_encoded_bytes() == name.as_bytes()
        );
        if !is_one || name.len() > MAX_NAME || name.contains('\0') {
            return Err(invalid_path("a part of the path is not a valid file name"));
        }
        path.push(name);
    }
    Ok(path)
}

/// Returns an error if a path is too long.
fn check_length(text: &str) -> io::Result<()> {
    if text.len() > MAX_PATH {
        return Err(invalid_path("the path has more than 4096 bytes"));
    }
    Ok(())
}

fn invalid_path(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
