//! Paths, as clients write them: decoded once, by rules of our own, before anything is opened.
//!
//! A path has no `.` and no `..`, in no encoding, and each of its names is one name: what a client
//! means is what it says, without the help of a file system.

use std::io;
use std::path::{Component, Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The longest path or URI, in bytes.
const MAX_PATH: usize = 4096;

/// The longest file name, in bytes.
const MAX_NAME: usize = 255;

/// Returns whether a byte needs no encoding in the path of a URI (RFC 3986, `pchar`, and the
/// slash).
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
pub(crate) fn path_of(written: &str) -> io::Result<PathBuf> {
    if written.starts_with("file:") {
        return path_of_uri(written);
    }
    bounded(written)?;
    let names = written
        .strip_prefix('/')
        .ok_or_else(|| refused("the path is not absolute"))?;
    joined(names.split('/').map(|name| Ok(name.to_owned())))
}

/// Parses a `file://` URI.
pub(crate) fn path_of_uri(uri: &str) -> io::Result<PathBuf> {
    bounded(uri)?;
    let path = uri.strip_prefix("file://");
    let path = path.map(|rest| rest.strip_prefix("localhost").unwrap_or(rest));
    let names = path
        .and_then(|path| path.strip_prefix('/'))
        .filter(|path| !path.contains(['?', '#']))
        .ok_or_else(|| refused("not a file:// URI of this machine"))?;
    joined(names.split('/').map(|name| {
        let decoded = percent_decode_str(name).decode_utf8();
        decoded
            .map(String::from)
            .map_err(|_| refused("a name in it is not UTF-8"))
    }))
}

/// Returns the URI of a path.
pub(crate) fn uri_of(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!("file://{}", utf8_percent_encode(&path, ENCODED))
}

/// Returns the absolute path of these names. The last one may be empty.
fn joined(names: impl Iterator<Item = io::Result<String>>) -> io::Result<PathBuf> {
    let mut path = PathBuf::from("/");
    let mut names = names.peekable();
    while let Some(name) = names.next() {
        let name = name?;
        if name.is_empty() && names.peek().is_none() {
            break;
        }
        // A name is one when the platform takes it for one: no separator, no drive, no dots.
        let mut components = Path::new(&name).components();
        let is_one = matches!(
            (components.next(), components.next()),
            (Some(Component::Normal(normal)), None) if normal.as_encoded_bytes() == name.as_bytes()
        );
        if !is_one || name.len() > MAX_NAME || name.contains('\0') {
            return Err(refused("a part of it is not the name of a file"));
        }
        path.push(name);
    }
    Ok(path)
}

fn bounded(written: &str) -> io::Result<()> {
    if written.len() > MAX_PATH {
        return Err(refused("the path is too long"));
    }
    Ok(())
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
