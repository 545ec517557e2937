//! Data that goes to files.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::screen::Screen;
use super::terminal::clean;
use crate::failure::Failure;

/// Writes data to the file or directory that the user named.
pub(super) struct Saver {
    to: Option<To>,
    count: usize,
}

enum To {
    File(PathBuf),
    Directory(PathBuf),
}

impl Saver {
    /// A saver of `pieces` pieces of data: several need a directory.
    pub(super) fn new(screen: &Screen, pieces: usize) -> Result<Self, Failure> {
        let to = match &screen.look.out {
            None => None,
            Some(path) => {
                let named = path.to_string_lossy().ends_with(std::path::is_separator);
                match pieces > 1 || named || path.is_dir() {
                    true => {
                        std::fs::create_dir_all(path).map_err(|error| cannot(path, &error))?;
                        Some(To::Directory(path.clone()))
                    }
                    false => Some(To::File(path.clone())),
                }
            }
        };
        Ok(Self { to, count: 0 })
    }

    /// Whether the user wants data written.
    pub(super) fn is_wanted(&self) -> bool {
        self.to.is_some()
    }

    /// Writes one piece; where to.
    pub(super) fn save(
        &mut self,
        bytes: &[u8],
        mime: Option<&str>,
        uri: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        self.count += 1;
        let path = match &self.to {
            None => return Ok(None),
            // The user named it, and may want it replaced.
            Some(To::File(path)) => {
                std::fs::write(path, bytes).map_err(|error| cannot(path, &error))?;
                path.clone()
            }
            // The server named it: what is there stays.
            Some(To::Directory(directory)) => {
                create_new(directory, &name(self.count, mime, uri), bytes)?
            }
        };
        Ok(Some(path.display().to_string()))
    }
}

/// Writes a file that was not there before.
fn create_new(directory: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "bin"));
    for attempt in 1..1000 {
        let path = match attempt {
            1 => directory.join(format!("{stem}.{ending}")),
            more => directory.join(format!("{stem}-{more}.{ending}")),
        };
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(bytes)
                    .map_err(|error| cannot(&path, &error))?;
                return Ok(path);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot(&path, &error)),
        }
    }
    Err(Failure::new(format!(
        "{} holds too many files named {name}",
        directory.display()
    )))
}

/// A plain file name of what the server calls it, with the ending of its media type.
fn name(count: usize, mime: Option<&str>, uri: Option<&str>) -> String {
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
    let kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let stem: String = stem
        .unwrap_or_default()
        .chars()
        .filter(kept)
        .take(60)
        .collect();
    let stem = if stem.is_empty() {
        format!("data-{count}")
    } else {
        stem
    };
    format!("{stem}.{}", ending(mime))
}

fn ending(mime: Option<&str>) -> String {
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

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!(
        "cannot write {}: {error}",
        clean(&path.display().to_string())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers_never_leave_the_directory() {
        for (uri, expected) in [
            (Some("file:///a/../../etc/passwd"), "passwd.png"),
            (Some("x:..\\..\\boot.ini"), "boot.png"),
            (Some("test://.."), "data-1.png"),
            (Some("test://image/logo.png?x=/y"), "logo.png"),
            (Some("a\u{1b}[2J/\u{202e}"), "data-1.png"),
            (None, "data-1.png"),
        ] {
            assert_eq!(name(1, Some("image/png"), uri), expected, "{uri:?}");
        }
        assert_eq!(ending(Some("x/../../y z")), "bin");
        assert_eq!(ending(Some("audio/wav; rate=1")), "wav");
    }
}
