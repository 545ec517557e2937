//! Saving of binary data to files (`--out`).

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::console::Console;
use crate::error::CliError;
use turnbuckle_types::base::terminal::sanitize;

/// Writes data to the file or directory of `--out`.
pub(super) struct Saver {
    destination: Option<Destination>,
    count: usize,
}

/// The file or directory that `--out` names.
enum Destination {
    File(PathBuf),
    Directory(PathBuf),
}

impl Saver {
    /// Creates a saver for `pieces` pieces of data. More than one piece needs a directory, which is
    /// created.
    pub(super) fn new(console: &Console, pieces: usize) -> Result<Self, CliError> {
        let destination = match &console.args.out {
            None => None,
            Some(path) => {
                let named = path.to_string_lossy().ends_with(std::path::is_separator);
                if pieces > 1 || named || path.is_dir() {
                    std::fs::create_dir_all(path).map_err(|error| write_error(path, &error))?;
                    Some(Destination::Directory(path.clone()))
                } else {
                    Some(Destination::File(path.clone()))
                }
            }
        };
        Ok(Self {
            destination,
            count: 0,
        })
    }

    /// Returns whether `--out` was given.
    pub(super) fn is_enabled(&self) -> bool {
        self.destination.is_some()
    }

    /// Writes one piece of data and returns the path that it was written to.
    pub(super) fn save(
        &mut self,
        bytes: &[u8],
        mime: Option<&str>,
        uri: Option<&str>,
    ) -> Result<Option<String>, CliError> {
        self.count += 1;
        let path = match &self.destination {
            None => return Ok(None),
            // The user chose this path, so an existing file is replaced.
            Some(Destination::File(path)) => {
                std::fs::write(path, bytes).map_err(|error| write_error(path, &error))?;
                path.clone()
            }
            // The server chose the name, so existing files are kept.
            Some(Destination::Directory(directory)) => {
                create_new(directory, &file_name(self.count, mime, uri), bytes)?
            }
        };
        Ok(Some(path.display().to_string()))
    }
}

/// Writes a file under a name that is still free.
fn create_new(directory: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, CliError> {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "bin"));
    for attempt in 1..1000 {
        let path = match attempt {
            1 => directory.join(format!("{stem}.{ending}")),
            more => directory.join(format!("{stem}-{more}.{ending}")),
        };
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(bytes)
                    .map_err(|error| write_error(&path, &error))?;
                return Ok(path);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(write_error(&path, &error)),
        }
    }
    Err(CliError::new(format!(
        "{} holds too many files named {name}",
        directory.display()
    )))
}

/// Returns a safe file name: the last path segment of the URI, with the extension of the media
/// type.
fn file_name(count: usize, mime: Option<&str>, uri: Option<&str>) -> String {
    let last = uri.and_then(|uri| {
        uri.split(['?', '#'])
            .next()?
            .rsplit(['/', '\\', ':'])
            .next()
    });
    let stem = last.map(|last| {
        last.split('.')
            .find(|part| !part.is_empty())
            .unwrap_or_default()
    });
    let is_safe = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let stem: String = stem
        .unwrap_or_default()
        .chars()
        .filter(is_safe)
        .take(60)
        .collect();
    let stem = if stem.is_empty() {
        format!("data-{count}")
    } else {
        stem
    };
    format!("{stem}.{}", file_extension(mime))
}

/// Returns the file extension of a media type.
fn file_extension(mime: Option<&str>) -> String {
    let mime = mime
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    match mime {
        "image/jpeg" => "jpg",
        "image/svg+xml" => "svg",
        "audio/mpeg" => "mp3",
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "text/plain" => "txt",
        "text/markdown" => "md",
        "application/octet-stream" | "" => "bin",
        other => {
            let sub = other.rsplit('/').next().unwrap_or_default();
            let plain = !sub.is_empty()
                && sub.len() <= 10
                && sub.bytes().all(|byte| byte.is_ascii_alphanumeric());
            return if plain {
                sub.to_owned()
            } else {
                "bin".to_owned()
            };
        }
    }
    .to_owned()
}

fn write_error(path: &Path, error: &std::io::Error) -> CliError {
    CliError::new(format!(
        "cannot write {}: {error}",
        sanitize(&path.display().to_string())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_never_leave_the_directory() {
        for (uri, expected) in [
            (Some("file:///a/../../etc/passwd"), "passwd.png"),
            (Some("x:..\\..\\boot.ini"), "boot.png"),
            (Some("test://.."), "data-1.png"),
            (Some("test://image/logo.png?x=/y"), "logo.png"),
            (Some("a\u{1b}[2J/\u{202e}"), "data-1.png"),
            (None, "data-1.png"),
        ] {
            assert_eq!(file_name(1, Some("image/png"), uri), expected, "{uri:?}");
        }
        assert_eq!(file_extension(Some("x/../../y z")), "bin");
        assert_eq!(file_extension(Some("audio/wav; rate=1")), "wav");
    }
}
