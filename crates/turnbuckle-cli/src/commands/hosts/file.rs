//! A configuration file of a host: read once, replaced as a whole, with a copy of the former one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use fs4::{FileExt, TryLockError};

use crate::error::CliError;

/// The largest configuration file, in bytes. That of Claude Code has histories in it.
const MAX_FILE_BYTES: u64 = 32 << 20;

/// The most copies of a file.
const MAX_COPIES: u32 = 99;

/// A configuration file as it was read.
pub(super) struct HostFile {
    /// The file that is replaced.
    path: PathBuf,
    /// The symbolic link that led to it.
    link: Option<PathBuf>,
    /// The contents; `None` if there is no such file.
    text: Option<String>,
}

impl HostFile {
    /// Reads a file. A symbolic link is followed once.
    ///
    /// # Errors
    /// Fails if the file is not a regular one, cannot be read or changed, is too large, or is not UTF-8.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let fail = |reason: &str| CliError::usage(format!("{}: {reason}", path.display()));
        let metadata = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self {
                    path: path.to_owned(),
                    link: None,
                    text: None,
                });
            }
            Err(error) => return Err(fail(&error.to_string())),
            Ok(metadata) => metadata,
        };
        if metadata.is_symlink() {
            let target = fs::read_link(path).map_err(|error| fail(&error.to_string()))?;
            let target = path.parent().unwrap_or(Path::new("")).join(target);
            let at_target = fs::symlink_metadata(&target);
            if at_target.is_ok_and(|target| target.is_symlink()) {
                return Err(
                    fail("it is a symbolic link to another one, and only one is followed")
                        .hint("name the file itself with `--config FILE`"),
                );
            }
            return Ok(Self {
                link: Some(path.to_owned()),
                ..Self::read(&target)?
            });
        }
        if !metadata.is_file() {
            return Err(fail("it is not a file"));
        }
        if metadata.permissions().readonly() {
            return Err(fail("it is read-only; nothing was changed"));
        }
        let text = File::open(path).and_then(|file| read_text(&file));
        let text = text.map_err(|error| fail(&error.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            link: None,
            text: Some(text),
        })
    }

    /// Returns the contents; nothing of a file that does not exist.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Returns the path, and the link that led to it.
    pub(super) fn describe(&self) -> String {
        match &self.link {
            Some(link) => format!("{} (a link to {})", link.display(), self.path.display()),
            None => self.path.display().to_string(),
        }
    }

    /// Replaces the file by another one with these contents, and returns the path of the copy of the former
    /// file. The new file is complete before it takes the place of the other.
    ///
    /// # Errors
    /// Fails if the file has changed since it was read, or cannot be written. Then it is as before.
    pub(super) fn replace(&self, text: &str) -> Result<Option<PathBuf>, CliError> {
        let fail = |error: io::Error| {
            CliError::new(format!(
                "{}: {error}; nothing was changed",
                self.path.display()
            ))
        };
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory).map_err(fail)?;
        }
        let new = self.write_beside(text).map_err(fail)?;
        let replaced = self.copy_and_rename(&new);
        if replaced.is_err() {
            let _ = fs::remove_file(&new);
        }
        replaced.map_err(fail)
    }

    /// Writes a file with the contents and the permissions of the former one, and returns its path.
    fn write_beside(&self, text: &str) -> io::Result<PathBuf> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let new = format!(".{name}.turnbuckle-{}", std::process::id());
        let new = self.path.with_file_name(new);
        let write = || {
            let mut file = create_private(&new)?;
            file.write_all(text.as_bytes())?;
            if self.text.is_some() {
                file.set_permissions(fs::metadata(&self.path)?.permissions())?;
            }
            file.sync_all()
        };
        let written = write();
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written.map(|()| new)
    }

    fn copy_and_rename(&self, new: &Path) -> io::Result<Option<PathBuf>> {
        let Some(text) = &self.text else {
            self.move_to_nothing(new)?;
            return Ok(None);
        };
        let _lock = self.lock(text)?;
        let copy = self.write_copy(text)?;
        fs::rename(new, &self.path)?;
        Ok(Some(copy))
    }

    /// Locks the file against other processes of this program, and checks afterwards that it is the one that was read: they
    /// replace it while they have the lock.
    fn lock(&self, text: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(&self.path)?;
        match FileExt::try_lock(&file) {
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => return Err(changed()),
        }
        match is_at(&file, &self.path) && read_text(&file)? == text {
            true => Ok(file),
            false => Err(changed()),
        }
    }

    /// Moves the new file to where none was, and never replaces one that came meanwhile.
    fn move_to_nothing(&self, new: &Path) -> io::Result<()> {
        match fs::hard_link(new, &self.path) {
            Ok(()) => fs::remove_file(new),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(changed()),
            // Some file systems have no hard links.
            Err(_) if self.path.symlink_metadata().is_err() => fs::rename(new, &self.path),
            Err(_) => Err(changed()),
        }
    }

    /// Writes the former contents to a file that did not exist before.
    fn write_copy(&self, text: &str) -> io::Result<PathBuf> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        for number in 1..=MAX_COPIES {
            let copy = match number {
                1 => format!("{name}.bak"),
                number => format!("{name}.bak{number}"),
            };
            let copy = self.path.with_file_name(copy);
            match create_private(&copy) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(mut file) => {
                    file.write_all(text.as_bytes())?;
                    file.sync_all()?;
                    return Ok(copy);
                }
            }
        }
        let reason = format!("there are {MAX_COPIES} copies ({name}.bak) already; remove some");
        Err(io::Error::other(reason))
    }
}

/// Creates a file that only the user can read, since configurations have secrets.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns the error of a file that is not the one that was read.
fn changed() -> io::Error {
    io::Error::other("another program has changed the file meanwhile; try again")
}

/// Returns whether an open file is the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

fn read_text(file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MAX_FILE_BYTES {
        true => Err(io::Error::other(format!(
            "it is larger than {MAX_FILE_BYTES} bytes"
        ))),
        false => Ok(text),
    }
}
