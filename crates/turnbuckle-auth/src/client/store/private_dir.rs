//! A directory that nobody but its user can read, and the files in it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use turnbuckle_types::base::quote::quote;
use turnbuckle_types::base::random;

use crate::error::{AuthError, AuthErrorKind};

/// The ending of files that a crash can leave behind. [`PrivateDir::remove_leftovers`] removes them.
pub(super) const TEMPORARY_SUFFIX: &str = ".tmp";

/// A directory that nobody but its user can read or write.
///
/// On Unix its mode is 0700 and that of its files is 0600, and both belong to the user that runs the
/// program; anything else is refused. On Windows the access control list of the parent applies.
#[derive(Debug)]
pub(super) struct PrivateDir {
    path: PathBuf,
    /// The user that new files in the directory belong to.
    #[cfg(unix)]
    user: u32,
}

impl PrivateDir {
    /// Opens a directory and creates it if there is none.
    pub(super) fn open(path: PathBuf) -> Result<Self, AuthError> {
        let path = std::path::absolute(&path).map_err(|e| io_error("find", &path, e))?;
        create(&path).map_err(|e| io_error("create", &path, e))?;
        #[cfg(unix)]
        let this = {
            let metadata = fs::metadata(&path).map_err(|e| io_error("read", &path, e))?;
            let mut this = Self {
                path,
                user: std::os::unix::fs::MetadataExt::uid(&metadata),
            };
            this.check()?;
            this.user = this.current_user()?;
            this
        };
        #[cfg(not(unix))]
        let this = Self { path };
        this.check()?;
        Ok(this)
    }

    /// Opens a directory within this one and creates it if there is none.
    pub(super) fn subdirectory(&self, name: &str) -> Result<Self, AuthError> {
        Self::open(self.path.join(name))
    }

    /// Returns the path of the directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a file in the directory.
    pub(super) fn file_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Checks that the directory still belongs to the user alone.
    pub(super) fn check(&self) -> Result<(), AuthError> {
        let metadata = fs::metadata(&self.path).map_err(|e| io_error("read", &self.path, e))?;
        if !metadata.is_dir() {
            let message = format!("{} is not a directory", quote_path(&self.path));
            return Err(AuthError::new(AuthErrorKind::Store, message));
        }
        self.check_access(&self.path, &metadata, "700")
    }

    /// Opens a file for reading, or returns `None` if there is none.
    pub(super) fn open_file(&self, name: &str) -> Result<Option<File>, AuthError> {
        let path = self.file_path(name);
        // Before the file is opened, which would wait on a named pipe.
        match fs::symlink_metadata(&path) {
            Ok(metadata) => check_regular(&path, &metadata)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("read", &path, error)),
        }
        match File::open(&path) {
            Ok(file) => {
                self.check_file(&path, &file)?;
                Ok(Some(file))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &path, error)),
        }
    }

    /// Creates a file. There must be none of its name.
    pub(super) fn create_file(&self, name: &str) -> Result<File, AuthError> {
        let path = self.file_path(name);
        let mut options = private_options();
        let created = options.create_new(true).open(&path);
        created.map_err(|e| io_error("create", &path, e))
    }

    /// Opens the file of a lock and creates it if there is none.
    pub(super) fn open_lock_file(&self, name: &str) -> Result<File, AuthError> {
        let path = self.file_path(name);
        let mut options = private_options();
        let opened = options.create(true).truncate(false).open(&path);
        let file = opened.map_err(|e| io_error("open", &path, e))?;
        self.check_file(&path, &file)?;
        Ok(file)
    }

    /// Renames a file, and replaces the file that has the new name.
    pub(super) fn rename(&self, from: &str, to: &str) -> Result<(), AuthError> {
        let to = self.file_path(to);
        let from = self.file_path(from);
        let mut attempts = 0;
        loop {
            match fs::rename(&from, &to) {
                Ok(()) => return Ok(()),
                // Windows refuses while another process has the file open, for instance to scan it.
                Err(error)
                    if cfg!(windows)
                        && error.kind() == io::ErrorKind::PermissionDenied
                        && attempts < 50 =>
                {
                    attempts += 1;
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                Err(error) => return Err(io_error("replace", &to, error)),
            }
        }
    }

    /// Removes a file. A file that does not exist is no error.
    pub(super) fn remove_file(&self, name: &str) -> Result<(), AuthError> {
        let path = self.file_path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(io_error("remove", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// Makes the names in the directory durable.
    pub(super) fn sync(&self) -> Result<(), AuthError> {
        if cfg!(unix) {
            let synced = File::open(&self.path).and_then(|directory| directory.sync_all());
            synced.map_err(|e| io_error("write", &self.path, e))?;
        }
        Ok(())
    }

    /// Returns the names of the files that end in `suffix`, of which there may be `max`.
    ///
    /// Returns `None` if there are more.
    pub(super) fn file_names(
        &self,
        suffix: &str,
        max: usize,
    ) -> Result<Option<Vec<String>>, AuthError> {
        let entries = fs::read_dir(&self.path).map_err(|e| io_error("list", &self.path, e))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| io_error("list", &self.path, e))?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name.ends_with(suffix) {
                if names.len() == max {
                    return Ok(None);
                }
                names.push(name);
            }
        }
        Ok(Some(names))
    }

    /// Removes the temporary files that a crash left behind. The caller excludes other writers.
    pub(super) fn remove_leftovers(&self) -> Result<(), AuthError> {
        let names = self.file_names(TEMPORARY_SUFFIX, usize::MAX)?;
        for name in names.unwrap_or_default() {
            self.remove_file(&name)?;
        }
        Ok(())
    }

    /// Checks that a file belongs to the user alone.
    fn check_file(&self, path: &Path, file: &File) -> Result<(), AuthError> {
        let metadata = file.metadata().map_err(|e| io_error("read", path, e))?;
        check_regular(path, &metadata)?;
        self.check_access(path, &metadata, "600")
    }

    /// Checks owner and mode of a file or directory. `mode` is what the mode should be.
    #[cfg(unix)]
    fn check_access(&self, path: &Path, metadata: &Metadata, mode: &str) -> Result<(), AuthError> {
        use std::os::unix::fs::MetadataExt as _;
        let path = quote_path(path);
        if metadata.uid() != self.user {
            let message = format!(
                "{path} belongs to user {}, not to user {} who runs this program; \
                 if you trust its contents, run: sudo chown -R {} {path}",
                metadata.uid(),
                self.user,
                self.user
            );
            return Err(AuthError::new(AuthErrorKind::StoreInsecure, message));
        }
        if metadata.mode() & 0o077 != 0 {
            let message = format!(
                "other users have access to {path} (mode {:04o}); run: chmod {mode} {path}",
                metadata.mode() & 0o7777
            );
            return Err(AuthError::new(AuthErrorKind::StoreInsecure, message));
        }
        Ok(())
    }

    #[cfg(not(unix))]
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Unix")]
    fn check_access(&self, _: &Path, _: &Metadata, _: &str) -> Result<(), AuthError> {
        Ok(())
    }

    /// Returns the user that a new file in the directory belongs to.
    ///
    /// On network file systems this can differ from the process's user.
    #[cfg(unix)]
    fn current_user(&self) -> Result<u32, AuthError> {
        use std::os::unix::fs::MetadataExt as _;
        let id = random::id()
            .map_err(|error| AuthError::new(AuthErrorKind::Store, error.to_string()))?;
        let name = format!(".user-{id}{TEMPORARY_SUFFIX}");
        let path = self.file_path(&name);
        let file = match private_options().create_new(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let path = quote_path(&self.path);
                let message = format!(
                    "user {} owns {path} and the user who runs this program cannot write there; \
                     if you trust its contents, run: sudo chown -R \"$(id -u)\" {path}",
                    self.user
                );
                let error =
                    AuthError::new(AuthErrorKind::StoreInsecure, message).with_source(error);
                return Err(error);
            }
            Err(error) => return Err(io_error("write", &self.path, error)),
        };
        let metadata = file.metadata();
        self.remove_file(&name)?;
        Ok(metadata.map_err(|e| io_error("read", &path, e))?.uid())
    }
}

/// Returns the options to create and write a file that only its user can read.
fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a directory and its parents, unless they exist.
fn create(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Checks that a file is a regular one.
fn check_regular(path: &Path, metadata: &Metadata) -> Result<(), AuthError> {
    if metadata.is_file() {
        return Ok(());
    }
    let path = quote_path(path);
    let message = format!("{path} is not a regular file; run: rm {path}");
    Err(AuthError::new(AuthErrorKind::StoreInsecure, message))
}

/// Returns the error of an operation on a file or directory.
pub(super) fn io_error(action: &str, path: &Path, error: io::Error) -> AuthError {
    let message = format!("cannot {action} {}", quote_path(path));
    AuthError::new(AuthErrorKind::Store, message).with_source(error)
}

/// Returns a path as a shell reads it.
pub(super) fn quote_path(path: &Path) -> String {
    quote(&path.to_string_lossy())
}

/// Returns the directory of this user for the data of turnbuckle.
///
/// Linux and other Unix: `$XDG_DATA_HOME/turnbuckle`, otherwise `~/.local/share/turnbuckle`. macOS:
/// `~/Library/Application Support/turnbuckle`. Windows: `%LOCALAPPDATA%\turnbuckle`.
pub(super) fn user_data_dir() -> Result<PathBuf, AuthError> {
    let home = std::env::home_dir();
    user_data_dir_from(|name| std::env::var_os(name).map(PathBuf::from), home).ok_or_else(|| {
        let variable = if cfg!(windows) { "LOCALAPPDATA" } else { "HOME" };
        let message = format!(
            "this user has no home directory; set {variable}, or choose a directory by FileStore::open"
        );
        AuthError::new(AuthErrorKind::Store, message)
    })
}

fn user_data_dir_from(
    variable: impl Fn(&str) -> Option<PathBuf>,
    home: Option<PathBuf>,
) -> Option<PathBuf> {
    let home = home.filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        let local = variable("LOCALAPPDATA").filter(|path| path.is_absolute());
        local.or_else(|| home.map(|home| home.join("AppData").join("Local")))
    } else if cfg!(target_os = "macos") {
        home.map(|home| home.join("Library").join("Application Support"))
    } else {
        // The XDG base directory specification says to ignore relative paths.
        let data = variable("XDG_DATA_HOME").filter(|path| path.is_absolute());
        data.or_else(|| home.map(|home| home.join(".local").join("share")))
    };
    base.map(|base| base.join("turnbuckle"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn the_data_directory_follows_xdg() {
        let home = || Some(PathBuf::from("/people/ada"));
        let data = |value: &'static str| {
            move |name: &str| (name == "XDG_DATA_HOME").then(|| PathBuf::from(value))
        };
        let path = |text: &str| Some(PathBuf::from(text));
        let default = path("/people/ada/.local/share/turnbuckle");
        assert_eq!(user_data_dir_from(|_| None, home()), default);
        assert_eq!(user_data_dir_from(data("relative"), home()), default);
        assert_eq!(
            user_data_dir_from(data("/data"), None),
            path("/data/turnbuckle")
        );
        assert_eq!(user_data_dir_from(|_| None, None), None);
        assert_eq!(user_data_dir_from(|_| None, path("relative")), None);
    }

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(quote_path(Path::new("/a b")), "'/a b'");
        assert_eq!(quote_path(Path::new("/it's")), "'/it'\\''s'");
        assert_eq!(quote_path(Path::new("/a\u{1b}[0m")), "'/a\\u{1b}[0m'");
    }
}
