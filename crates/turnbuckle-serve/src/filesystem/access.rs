//! The directories that are served, and the paths inside of them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use turnbuckle::types::Root;

use super::cached;
use crate::Error;
use crate::fault::{Fault, Result};

/// The longest path that a client may name, in bytes.
const MAX_PATH_BYTES: usize = 4_096;

/// The roots of a client that are looked at.
const MAX_ROOTS: usize = 64;

/// A directory that is served. Each call opens it, so that the one of that path is served, also after it was replaced.
struct Directory {
    /// The path that the user named, absolute.
    named: PathBuf,
    /// The path without symlinks.
    real: PathBuf,
}

/// The directories that are served.
pub(super) struct Directories(Vec<Directory>);

/// A path inside of a directory that is served.
pub(super) struct Location<'d> {
    directory: &'d Directory,
    /// The open directory, to which all accesses are relative.
    handle: Dir,
    /// The path below the directory, without symlinks at the time of the check; `.` for itself.
    below: PathBuf,
    /// The names at the end of the path that do not exist.
    missing: usize,
}

impl Directories {
    /// Opens directories.
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, Error> {
        let open = |path: &PathBuf| {
            let expanded = expand_home(path);
            Directory::new(&expanded).map_err(|error| {
                Error::new(format!(
                    "cannot open the directory {}: {error}",
                    path.display()
                ))
                .with_source(error)
            })
        };
        Ok(Self(paths.iter().map(open).collect::<Result<_, _>>()?))
    }

    /// Opens those roots of a client that are directories, and inside of one of these directories unless there is none.
    /// Returns none if no root is left.
    pub(super) fn choose(&self, roots: &[Root]) -> Option<Self> {
        let chosen = |root: &Root| {
            let path = path_of_uri(root.uri.as_str())?;
            if self.0.is_empty() {
                return Directory::new(&path).ok();
            }
            let location = self.locate(path.to_str()?).ok()?;
            location.open_dir().ok()?;
            Some(Directory {
                named: location.path(),
                real: location.path(),
            })
        };
        let chosen: Vec<_> = roots.iter().take(MAX_ROOTS).filter_map(chosen).collect();
        (!chosen.is_empty()).then_some(Self(chosen))
    }

    /// Returns true if no directory is served.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the paths of the directories: as they were named, and without symlinks if that is another path.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for directory in &self.0 {
            paths.push(directory.named.display().to_string());
            if directory.real != directory.named {
                paths.push(directory.real.display().to_string());
            }
        }
        paths
    }

    /// Finds the place of a path that a client named, in a directory that exists. A path that is not absolute is below the
    /// first directory.
    pub(super) fn locate(&self, path: &str) -> Result<Location<'_>> {
        let location = self.resolve(path)?;
        if location.missing > 1 {
            let path = location.path();
            let parent = path.parent().unwrap_or(&path);
            return Err(Fault::new(format!(
                "Parent directory does not exist: {}",
                parent.display()
            )));
        }
        Ok(location)
    }

    /// Returns the content of a file if it takes no time. Otherwise, [`locate`](Self::locate) finds it, or says what is
    /// wrong.
    pub(super) fn read_cached(&self, path: &str) -> Option<Vec<u8>> {
        let (directory, below, _) = self.find(path).ok()?;
        cached::read(&directory.real, &below)
    }

    /// Makes a directory and those above it.
    pub(super) fn create_dir(&self, path: &str) -> Result<()> {
        let location = self.resolve(path)?;
        if location.below == Path::new(".") {
            return Ok(());
        }
        let made = location.handle.create_dir_all(&location.below);
        made.map_err(|error| location.failure(&error))
    }

    /// Returns the directory of a path, the path below it, and the absolute path, before symlinks are followed.
    fn find(&self, path: &str) -> Result<(&Directory, PathBuf, PathBuf)> {
        if path.len() > MAX_PATH_BYTES || path.contains('\0') {
            return Err(Fault::new(format!(
                "a path has at most {MAX_PATH_BYTES} bytes and no NUL"
            )));
        }
        let path = expand_home(Path::new(path));
        let first = self.0.first().ok_or("there are no allowed directories")?;
        let absolute = normalize(&first.named.join(path));
        let (directory, below) = self.split(&absolute).ok_or_else(|| {
            let text = format!(
                "Access denied - path outside allowed directories: {} not in {}",
                absolute.display(),
                self.paths().join(", ")
            );
            Fault::new(text)
        })?;
        Ok((directory, below, absolute))
    }

    /// Returns the innermost directory that has a path, and the rest of the path.
    fn split(&self, absolute: &Path) -> Option<(&Directory, PathBuf)> {
        let below = |directory: &'_ Directory| {
            let rest = absolute.strip_prefix(&directory.named);
            let rest = rest
                .or_else(|_| absolute.strip_prefix(&directory.real))
                .ok()?;
            Some(rest.to_path_buf())
        };
        let inside = self
            .0
            .iter()
            .filter_map(|directory| Some((directory, below(directory)?)));
        inside.min_by_key(|(_, rest)| rest.components().count())
    }

    /// Follows the symlinks of a path that a client named. They may lead anywhere inside of the directories.
    ///
    /// The path that is found only says which handle is used and what is locked: a symlink that comes later leads out of
    /// no handle.
    fn resolve(&self, path: &str) -> Result<Location<'_>> {
        let (named, below, absolute) = self.find(path)?;
        let denied = || {
            Fault::new(format!(
                "Access denied - {} is not readable, or a symlink leads nowhere or outside allowed directories",
                absolute.display()
            ))
        };
        let path = named.real.join(below);
        let mut error = None;
        let found = path
            .ancestors()
            .find_map(|existing| match existing.canonicalize() {
                Ok(real) => Some((real, path.strip_prefix(existing).ok()?)),
                Err(reason) => {
                    error.get_or_insert(reason);
                    None
                }
            });
        let (real, rest) = found.ok_or_else(denied)?;
        let Some((directory, below)) = self.split(&real) else {
            // The directory itself may be missing.
            named.open()?;
            return Err(denied());
        };
        let handle = directory.open()?;
        // Nothing is said about what a symlink leads to that is not inside.
        let is_symlink = |name: &OsStr| {
            let metadata = handle.symlink_metadata(below.join(name));
            metadata.is_ok_and(|metadata| metadata.is_symlink())
        };
        if rest.iter().next().is_some_and(is_symlink) {
            return Err(denied());
        }
        match error.map(|error| (error.kind(), error)) {
            None | Some((io::ErrorKind::NotFound, _)) => {}
            Some((io::ErrorKind::PermissionDenied, _)) => return Err(denied()),
            Some((_, error)) => {
                return Err(Fault::new(format!("{error}: {}", absolute.display())));
            }
        }
        let below: PathBuf = below.iter().chain(rest).collect();
        let is_itself = below.as_os_str().is_empty();
        Ok(Location {
            directory,
            handle,
            below: if is_itself { PathBuf::from(".") } else { below },
            missing: rest.iter().count(),
        })
    }
}

impl Directory {
    fn new(path: &Path) -> io::Result<Self> {
        let named = normalize(&std::path::absolute(path)?);
        let real = named.canonicalize()?;
        open_real(&real)?;
        Ok(Self { named, real })
    }

    fn open(&self) -> Result<Dir> {
        open_real(&self.real).map_err(|error| {
            let path = self.real.display();
            Fault::new(format!("cannot open the directory {path}: {error}"))
        })
    }
}

/// Opens a directory by a path without symlinks. One that has come into the path is not followed.
fn open_real(path: &Path) -> io::Result<Dir> {
    let root = path.ancestors().last().unwrap_or(path);
    let mut dir = Dir::open_ambient_dir(root, ambient_authority())?;
    for name in path.strip_prefix(root).unwrap_or(path) {
        dir = open_inner(&dir, name)?;
    }
    Ok(dir)
}

impl Location<'_> {
    /// Returns true if there is something at the place.
    pub(super) fn exists(&self) -> bool {
        self.missing == 0
    }

    /// Returns the absolute path, to show it.
    pub(super) fn path(&self) -> PathBuf {
        if self.below == Path::new(".") {
            return self.directory.real.clone();
        }
        self.directory.real.join(&self.below)
    }

    /// Returns the handle of the directory and the path below it.
    pub(super) fn below(&self) -> (&Dir, &Path) {
        (&self.handle, &self.below)
    }

    /// Opens the directory at the place.
    pub(super) fn open_dir(&self) -> Result<Dir> {
        let opened = self.handle.open_dir(&self.below);
        opened.map_err(|error| self.failure(&error))
    }

    /// Opens the directory that has the place, and returns it with the name of the place in it.
    pub(super) fn open_parent(&self) -> Result<(Dir, OsString)> {
        let denied = || Fault::new("Access denied - this is an allowed directory itself");
        let name = self.below.file_name().ok_or_else(denied)?;
        let parent = self
            .below
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = self.handle.open_dir(parent.unwrap_or(Path::new(".")));
        Ok((
            parent.map_err(|error| self.failure(&error))?,
            name.to_owned(),
        ))
    }

    /// Opens the file at the place, which is a regular file: no device, pipe or socket.
    pub(super) fn open_file(&self) -> Result<(File, u64)> {
        let opened = open_regular(&self.handle, &self.below);
        opened.map_err(|error| self.failure(&error))
    }

    /// Returns an error with the path.
    pub(super) fn failure(&self, error: &io::Error) -> Fault {
        Fault::new(format!("{error}: {}", self.path().display()))
    }
}

/// Opens a regular file of a directory, and returns its size.
pub(super) fn open_regular(dir: &Dir, below: &Path) -> io::Result<(File, u64)> {
    let irregular = || io::Error::other("it is no regular file");
    // Opening a device may do something already.
    if !dir.metadata(below)?.is_file() {
        return Err(irregular());
    }
    let mut options = OpenOptions::new();
    // Opening a pipe that came meanwhile would wait for its other end. The path had no symlink at its end.
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    let file = dir.open_with(below, &options)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(irregular());
    }
    Ok((file, metadata.len()))
}

/// Opens a directory inside of another, which is no symlink.
pub(super) fn open_inner(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    dir.open_dir_nofollow(name)
}

/// Removes `.` and `..` from an absolute path, without looking at the file system.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// Replaces `~` at the beginning by the home directory.
fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
}

/// Returns the path of a `file:` URI.
fn path_of_uri(uri: &str) -> Option<PathBuf> {
    url::Url::parse(uri).ok()?.to_file_path().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::{fs, thread};

    use super::*;

    #[test]
    fn a_file_that_is_replaced_meanwhile_keeps_its_path() {
        let scratch = tempfile::tempdir().unwrap();
        let (file, other) = (scratch.path().join("a"), scratch.path().join("b"));
        fs::write(&file, "").unwrap();
        let directories = Directories::open(&[scratch.path().to_owned()]).unwrap();
        let path = || directories.locate("a").map(|location| location.path());
        let expected = scratch.path().canonicalize().unwrap().join("a");
        let is_ended = AtomicBool::new(false);
        let paths = thread::scope(|scope| {
            scope.spawn(|| {
                while !is_ended.load(Ordering::Relaxed) {
                    fs::write(&other, "").unwrap();
                    fs::rename(&other, &file).unwrap();
                }
            });
            let paths: Vec<_> = (0..5_000).map(|_| path()).collect();
            is_ended.store(true, Ordering::Relaxed);
            paths
        });
        for path in paths {
            assert_eq!(path.unwrap(), expected);
        }
    }
}
