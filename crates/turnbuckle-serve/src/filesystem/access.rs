//! The directories that are served, and the paths inside of them.

use std::ffi::OsString;
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

/// A directory that is served.
struct Directory {
    /// The path that the user named, absolute.
    named: PathBuf,
    /// The path without symlinks.
    real: PathBuf,
    /// The open directory, to which all accesses are relative.
    handle: Dir,
    /// True if files whose names are in memory are opened without waiting for anybody.
    is_local: bool,
}

/// The directories that are served.
pub(super) struct Directories(Vec<Directory>);

/// A path inside of a directory that is served.
pub(super) struct Location<'d> {
    directory: &'d Directory,
    /// The path below the directory, without symlinks at the time of the check; `.` for itself.
    below: PathBuf,
    /// True if there is something at the path.
    pub(super) exists: bool,
}

impl Directories {
    /// Opens directories.
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, Error> {
        let open = |path: &PathBuf| {
            let expanded = expand_home(path);
            Directory::open(&expanded).map_err(|error| {
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
                return Directory::open(&path).ok();
            }
            let location = self.locate(path.to_str()?).ok()?;
            let handle = location.open_dir().ok()?;
            Some(Directory {
                named: location.path(),
                real: location.path(),
                is_local: cached::is_local(&handle),
                handle,
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

    /// Finds the place of a path that a client named. A path that is not absolute is below the first directory.
    pub(super) fn locate(&self, path: &str) -> Result<Location<'_>> {
        let (directory, below, absolute) = self.find(path)?;
        self.resolve(directory, below, &absolute)
    }

    /// Returns the content of a file if it takes no time. Otherwise, [`locate`](Self::locate) finds it, or says what is
    /// wrong.
    pub(super) fn read_cached(&self, path: &str) -> Option<Vec<u8>> {
        let (directory, below, _) = self.find(path).ok()?;
        directory
            .is_local
            .then(|| cached::read(&directory.handle, &below))?
    }

    /// Makes a directory and those above it.
    pub(super) fn create_dir(&self, path: &str) -> Result<()> {
        let (directory, below, absolute) = self.find(path)?;
        if below.as_os_str().is_empty() {
            return Ok(());
        }
        let made = directory.handle.create_dir_all(&below);
        made.map_err(|error| Fault::new(format!("{error}: {}", absolute.display())))
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

    /// Follows the symlinks of a path inside of a directory.
    fn resolve<'d>(
        &'d self,
        directory: &'d Directory,
        below: PathBuf,
        absolute: &Path,
    ) -> Result<Location<'d>> {
        if below.as_os_str().is_empty() {
            return Ok(Location::new(directory, PathBuf::from("."), true));
        }
        let error = match directory.handle.canonicalize(&below) {
            Ok(real) => return Ok(Location::new(directory, real, true)),
            Err(error) => error,
        };
        if error.kind() == io::ErrorKind::NotFound {
            return resolve_new(directory, &below, absolute);
        }
        // An absolute symlink may lead to another place inside: the handle of that one is used then.
        if let Ok(real) = absolute.canonicalize()
            && let Some((directory, below)) = self.split(&real)
            && directory
                .handle
                .canonicalize(&below)
                .is_ok_and(|again| again == below)
        {
            return Ok(Location::new(directory, below, true));
        }
        if error.kind() == io::ErrorKind::PermissionDenied {
            return Err(Fault::new(format!(
                "Access denied - {} is not readable, or a symlink leads outside allowed directories",
                absolute.display()
            )));
        }
        Err(Fault::new(format!("{error}: {}", absolute.display())))
    }
}

/// Finds the place of a file that does not exist yet, in a directory that does.
fn resolve_new<'d>(
    directory: &'d Directory,
    below: &Path,
    absolute: &Path,
) -> Result<Location<'d>> {
    // A symlink whose target is missing would be followed to wherever it leads later.
    if directory.handle.symlink_metadata(below).is_ok() {
        return Err(Fault::new(format!(
            "the symlink {} leads nowhere",
            absolute.display()
        )));
    }
    let name = below.file_name().ok_or("the path has no file name")?;
    let parent = match below.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => {
            directory.handle.canonicalize(parent).map_err(|_| {
                let parent = absolute.parent().unwrap_or(absolute);
                Fault::new(format!(
                    "Parent directory does not exist: {}",
                    parent.display()
                ))
            })?
        }
        _ => PathBuf::new(),
    };
    Ok(Location::new(directory, parent.join(name), false))
}

impl Directory {
    fn open(path: &Path) -> io::Result<Self> {
        let named = normalize(&std::path::absolute(path)?);
        let real = named.canonicalize()?;
        let handle = Dir::open_ambient_dir(&real, ambient_authority())?;
        Ok(Self {
            is_local: cached::is_local(&handle),
            handle,
            named,
            real,
        })
    }
}

impl<'d> Location<'d> {
    fn new(directory: &'d Directory, below: PathBuf, exists: bool) -> Self {
        Self {
            directory,
            below,
            exists,
        }
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
        (&self.directory.handle, &self.below)
    }

    /// Opens the directory at the place.
    pub(super) fn open_dir(&self) -> Result<Dir> {
        let opened = self.directory.handle.open_dir(&self.below);
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
        let parent = self
            .directory
            .handle
            .open_dir(parent.unwrap_or(Path::new(".")));
        Ok((
            parent.map_err(|error| self.failure(&error))?,
            name.to_owned(),
        ))
    }

    /// Opens the file at the place, which is a regular file: no device, pipe or socket.
    pub(super) fn open_file(&self) -> Result<(File, u64)> {
        let opened = open_regular(&self.directory.handle, &self.below);
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
pub(super) fn open_inner(dir: &Dir, name: &std::ffi::OsStr) -> io::Result<Dir> {
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
