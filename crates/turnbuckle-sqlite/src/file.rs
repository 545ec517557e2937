//! The file of a store: its owner, its mode, and its identity.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use turnbuckle_store::{StoreError, StoreErrorKind};

/// The path of the file of a store, and the file that was there when it was opened.
#[derive(Debug)]
pub(crate) struct StoreFile {
    path: PathBuf,
    identity: Identity,
}

type Identity = (u64, u64);

impl StoreFile {
    /// Finds the file, checks that it belongs to the user alone, and creates it if there is none and
    /// `create` is true.
    pub(crate) fn find(path: &Path, create: bool) -> Result<Self, StoreError> {
        // SQLite follows no links; those of the directory are the operator's.
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let directory = fs::canonicalize(directory).map_err(|error| {
            let text = "the directory of the store cannot be found: create it";
            io_error(directory, text, error)
        })?;
        let name = path.file_name().ok_or_else(|| {
            let text = format!("{} is the path of no file: name a file", path.display());
            StoreError::new(StoreErrorKind::Misconfigured, text)
        })?;
        let path = directory.join(name);
        if create {
            let created = private_options().create_new(true).open(&path);
            match created {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(io_error(
                        &path,
                        "the file of the store cannot be created",
                        error,
                    ));
                }
                _ => {}
            }
        }
        let identity = check(&path)?;
        for beside in ["-wal", "-shm"] {
            let mut name = path.clone().into_os_string();
            name.push(beside);
            let beside = PathBuf::from(name);
            if fs::symlink_metadata(&beside).is_ok() {
                check(&beside)?;
            }
        }
        Ok(Self { path, identity })
    }

    /// Returns the path, whose directory has no links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether another file or none is there now.
    pub(crate) fn is_replaced(&self) -> bool {
        fs::symlink_metadata(&self.path).map_or(true, |found| identity(&found) != self.identity)
    }
}

/// Checks that a path is a file of the user alone.
fn check(path: &Path) -> Result<Identity, StoreError> {
    let metadata = fs::symlink_metadata(path).map_err(|error| {
        let text =
            "the file of the store is gone: put it back, or start the server anew for an empty one";
        io_error(path, text, error)
    })?;
    let refuse = |fault: &str| {
        let text = format!("the store does not use {}: {fault}", path.display());
        Err(StoreError::new(StoreErrorKind::Misconfigured, text))
    };
    if !metadata.is_file() {
        return refuse("it is no regular file; name the file itself, not a link or a directory");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return refuse(
                "it belongs to another user; give it to the user of the server with chown",
            );
        }
        if metadata.mode() & 0o077 != 0 {
            return refuse("other users have access to it; take it away with chmod 600");
        }
    }
    Ok(identity(&metadata))
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

/// Returns the time of the creation, where files have no numbers.
#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> Identity {
    let created = metadata.created().ok();
    let since = created.and_then(|it| it.duration_since(std::time::SystemTime::UNIX_EPOCH).ok());
    let since = since.unwrap_or_default();
    (since.as_secs(), since.subsec_nanos().into())
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn io_error(path: &Path, text: &str, error: io::Error) -> StoreError {
    let text = format!("{}: {text} ({error})", path.display());
    StoreError::new(StoreErrorKind::Unavailable, text).with_source(error)
}
