//! Files that are written, and files and directories that are moved.

use std::ffi::OsStr;
use std::io::{self, Write as _};

use cap_std::fs::{Dir, OpenOptions, Permissions};

use super::access::Location;
use crate::fault::{Fault, Result};

/// The attempts to find a name for a temporary file.
const ATTEMPTS: u32 = 16;

/// Writes a file as a whole: a reader sees the old content or the new one, and a symlink in its place is replaced, not
/// followed.
pub(super) fn file(location: &Location<'_>, content: &str) -> Result<()> {
    let (parent, name) = location.open_parent()?;
    let old = match parent.symlink_metadata(&name) {
        Ok(metadata) if metadata.is_file() => Some(metadata.permissions()),
        Ok(_) => return Err(location.failure(&io::Error::other("it is no regular file"))),
        Err(_) => None,
    };
    replace(&parent, &name, content, old).map_err(|error| location.failure(&error))
}

fn replace(
    parent: &Dir,
    name: &OsStr,
    content: &str,
    permissions: Option<Permissions>,
) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let (temporary, mut file) = (0..ATTEMPTS)
        .find_map(|attempt| {
            let temporary = format!(".turnbuckle-{}-{attempt}.tmp", std::process::id());
            match parent.open_with(&temporary, &options) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
                opened => Some(opened.map(|file| (temporary, file))),
            }
        })
        .unwrap_or_else(|| Err(io::Error::other("too many temporary files are left over")))?;
    let written = (|| {
        file.write_all(content.as_bytes())?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        drop(file);
        parent.rename(&temporary, parent, name)
    })();
    if written.is_err() {
        let _ = parent.remove_file(&temporary);
    }
    written
}

/// Moves a file or directory to a place where nothing is.
pub(super) fn rename(source: &Location<'_>, destination: &Location<'_>) -> Result<()> {
    let exists = || {
        Fault::new(format!(
            "the destination exists: {}",
            destination.path().display()
        ))
    };
    if destination.exists {
        return Err(exists());
    }
    let (from, from_name) = source.open_parent()?;
    let (to, to_name) = destination.open_parent()?;
    match rename_to_nothing(&from, &from_name, &to, &to_name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists()),
        moved => moved.map_err(|error| source.failure(&error)),
    }
}

/// Renames, and never replaces what came to the destination meanwhile.
#[cfg(target_os = "linux")]
fn rename_to_nothing(from: &Dir, from_name: &OsStr, to: &Dir, to_name: &OsStr) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(from, from_name, to, to_name, RenameFlags::NOREPLACE) {
        // Some file systems do not know the flag.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            from.rename(from_name, to, to_name)
        }
        renamed => Ok(renamed?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_to_nothing(from: &Dir, from_name: &OsStr, to: &Dir, to_name: &OsStr) -> io::Result<()> {
    from.rename(from_name, to, to_name)
}
