//! The file of a Unix socket: made with its permissions, and removed with its server.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use turnbuckle_types::base::random;

/// The file of a socket, which is removed on drop if it is still this socket's.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// The device and the inode.
    identity: (u64, u64),
}

impl SocketFile {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|identity| identity == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Binds a Unix socket at a path, with permissions `mode`. A socket there that nobody listens on is
/// replaced.
///
/// # Errors
/// When something else is at the path, or the socket cannot be made.
pub(super) fn bind(path: &Path, mode: u32) -> io::Result<(UnixListener, SocketFile)> {
    let named = |error: io::Error| {
        let text = format!("{}: {error}", path.display());
        io::Error::new(error.kind(), text)
    };
    remove_stale(path).map_err(named)?;
    // The socket is made in a directory that nobody else can enter, so that nobody connects before
    // its permissions are set. A link, unlike a rename, never replaces what is at the path.
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let id = random::id().map_err(io::Error::other)?;
    let private = parent.join(format!(".{}", id.get(..8).unwrap_or(&id)));
    DirBuilder::new()
        .mode(0o700)
        .create(&private)
        .map_err(named)?;
    let socket = private.join("s");
    let bound = (|| {
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(mode))?;
        let identity = identity(&socket)?;
        fs::hard_link(&socket, path)?;
        let path = path.to_owned();
        Ok((listener, SocketFile { path, identity }))
    })();
    let _ = fs::remove_file(&socket);
    let _ = fs::remove_dir(&private);
    bound.map_err(named)
}

/// Removes a socket that nobody listens on.
fn remove_stale(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !metadata.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "there is a file that is no socket: remove it, or choose another path",
        ));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another server listens on this socket",
        )),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}
