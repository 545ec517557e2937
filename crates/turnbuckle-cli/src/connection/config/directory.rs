//! Directories and files that no other user of this machine can change.
//!
//! Each is opened once, from the descriptor of its directory and without following a symbolic link.
//! Its owner and mode are those of the descriptor, and the file is read from the same descriptor: an
//! exchange of names has no effect on what was opened.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A directory, and the path that errors name it by.
pub(super) struct Directory {
    path: PathBuf,
    #[cfg(unix)]
    descriptor: File,
}

/// The reason for which a file or directory is not used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Untrusted {
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

impl Untrusted {
    fn new(path: &Path, reason: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

/// The outcome of opening a name in a directory: `None` if there is none.
type Found<T> = Result<Option<T>, Untrusted>;

impl Directory {
    /// Returns the path of the directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::MetadataExt as _;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat};
    use rustix::io::Errno;

    use super::{Directory, File, Found, Path, PathBuf, Untrusted, io};

    /// Opens a directory to look names up in it, which needs no right to list them where the system
    /// tells these apart.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const LOOK_UP: OFlags = OFlags::PATH;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const LOOK_UP: OFlags = OFlags::RDONLY;

    const WRITABLE_BY_GROUP: u32 = 0o020;
    const WRITABLE_BY_ALL: u32 = 0o002;
    const STICKY: u32 = 0o1000;

    impl Directory {
        /// Opens a directory by its path.
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            let flags = LOOK_UP | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(Self {
                path: path.to_owned(),
                descriptor: openat(CWD, path, flags, Mode::empty())?.into(),
            })
        }

        /// Opens the parent of the directory; `None` for the root and where the user may not look.
        pub(in super::super) fn parent(&self) -> Option<Self> {
            let path = self.path.parent()?.to_owned();
            let flags = LOOK_UP | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = openat(&self.descriptor, "..", flags, Mode::empty()).ok()?;
            let descriptor = opened.into();
            Some(Self { path, descriptor })
        }

        /// Opens a directory in this one.
        pub(in super::super) fn subdirectory(&self, name: &Path) -> Found<Self> {
            let path = self.path.join(name);
            let opened = self.open_name(name, &path, LOOK_UP | OFlags::DIRECTORY)?;
            Ok(opened.map(|descriptor| Self { path, descriptor }))
        }

        /// Opens a regular file in the directory that no other user can change.
        pub(in super::super) fn file(&self, name: &Path) -> Found<File> {
            let path = self.path.join(name);
            // Without waiting for the other end of a named pipe.
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
            let Some(file) = self.open_name(name, &path, flags)? else {
                return Ok(None);
            };
            let is_file = file.metadata().map(|metadata| metadata.is_file());
            match is_file {
                Ok(true) => {}
                Ok(false) => return Err(Untrusted::new(&path, "it is not a regular file")),
                Err(error) => return Err(Untrusted::new(&path, error.to_string())),
            }
            check_owner(&path, &file)?;
            Ok(Some(file))
        }

        fn open_name(&self, name: &Path, path: &Path, flags: OFlags) -> Found<File> {
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(&self.descriptor, name, flags, Mode::empty()) {
                Ok(opened) => Ok(Some(opened.into())),
                Err(Errno::NOENT) => Ok(None),
                Err(_) if self.is_link(name) => Err(Untrusted::new(path, "it is a symbolic link")),
                // A file of the name of a directory.
                Err(Errno::NOTDIR) => Ok(None),
                Err(error) => Err(Untrusted::new(path, io::Error::from(error).to_string())),
            }
        }

        fn is_link(&self, name: &Path) -> bool {
            let stat = statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW);
            stat.is_ok_and(|stat| {
                rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Symlink
            })
        }

        /// Checks that no other user can exchange the names in the directory.
        pub(in super::super) fn check(&self) -> Result<(), Untrusted> {
            check_owner(&self.path, &self.descriptor)
        }

        /// Returns whether the directory is the root of a repository of this user or of root. One
        /// that another user made decides nothing.
        pub(in super::super) fn is_repository(&self) -> bool {
            statat(&self.descriptor, ".git", AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| is_trusted_owner(stat.st_uid))
        }
    }

    /// Checks owner and mode of what was opened.
    fn check_owner(path: &Path, opened: &File) -> Result<(), Untrusted> {
        let metadata = opened
            .metadata()
            .map_err(|error| Untrusted::new(path, error.to_string()))?;
        let mode = metadata.mode();
        // In a sticky directory such as /tmp nobody can replace the file of another.
        let is_sticky = metadata.is_dir() && mode & STICKY != 0;
        if !is_trusted_owner(metadata.uid()) {
            return Err(Untrusted::new(path, "it belongs to another user"));
        }
        let by_group = mode & WRITABLE_BY_GROUP != 0 && !is_private_group(metadata.gid());
        if (by_group || mode & WRITABLE_BY_ALL != 0) && !is_sticky {
            return Err(Untrusted::new(path, "other users can change it"));
        }
        Ok(())
    }

    pub(super) fn is_trusted_owner(uid: u32) -> bool {
        uid == 0 || uid == rustix::process::geteuid().as_raw()
    }

    /// Returns whether a group is the user's own, which by convention has the number of the user. The
    /// group of a user can also be one that all users are in.
    pub(super) fn is_private_group(gid: u32) -> bool {
        let user = rustix::process::geteuid().as_raw();
        gid == user && gid == rustix::process::getegid().as_raw()
    }

    /// Opens a file that no other user can change, nor exchange a directory on its way: from
    /// `project` on if the file is below it, or else from the root.
    pub(in super::super) fn open_untouched(file: &Path, project: &Path) -> Found<File> {
        let failed = |error: io::Error| Untrusted::new(file, error.to_string());
        let (Some(parent), Some(name)) = (file.parent(), file.file_name()) else {
            return Err(Untrusted::new(file, "it is not a regular file"));
        };
        // Links on the way are resolved once; what they led to is opened and checked.
        let parent = parent.canonicalize().map_err(failed)?;
        let project = project.canonicalize().map_err(failed)?;
        let start = match parent.starts_with(&project) {
            true => project,
            false => PathBuf::from("/"),
        };
        let mut directory = Directory::open(&start).map_err(failed)?;
        directory.check()?;
        for name in parent.strip_prefix(&start).into_iter().flatten() {
            let Some(next) = directory.subdirectory(Path::new(name))? else {
                return Ok(None);
            };
            next.check()?;
            directory = next;
        }
        directory.file(Path::new(name))
    }
}

#[cfg(unix)]
pub(super) use unix::open_untouched;

/// Windows keeps the owners of files in access lists, which the first use of a server's command does
/// not depend on: the user is asked.
#[cfg(not(unix))]
impl Directory {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        Ok(Self { path })
    }

    pub(super) fn parent(&self) -> Option<Self> {
        let path = self.path.parent()?.to_owned();
        Some(Self { path })
    }

    pub(super) fn subdirectory(&self, name: &Path) -> Found<Self> {
        let path = self.path.join(name);
        Ok(path.is_dir().then_some(Self { path }))
    }

    pub(super) fn file(&self, name: &Path) -> Found<File> {
        open(&self.path.join(name))
    }

    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Unix")]
    pub(super) fn check(&self) -> Result<(), Untrusted> {
        Ok(())
    }

    pub(super) fn is_repository(&self) -> bool {
        self.path.join(".git").exists()
    }
}

#[cfg(not(unix))]
pub(super) fn open_untouched(file: &Path, _: &Path) -> Found<File> {
    open(file)
}

#[cfg(not(unix))]
fn open(path: &Path) -> Found<File> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Untrusted::new(path, error.to_string())),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::unix::{is_private_group, is_trusted_owner};

    #[test]
    fn the_user_and_root_are_trusted_and_no_group_but_the_users_own() {
        let user = rustix::process::geteuid().as_raw();
        assert!(is_trusted_owner(0) && is_trusted_owner(user));
        assert!(!is_trusted_owner(user + 1));
        assert!(!is_private_group(user + 1));
    }
}
