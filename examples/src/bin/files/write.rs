//! Atomic replacement of files.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::OpenOptions;

use crate::grant::Location;

/// Replaces the contents of a file. The bytes are written to a temporary file in the same
/// directory, which is then renamed. Readers therefore never see a partial file, and a symbolic
/// link is replaced instead of followed.
pub(crate) fn replace(location: &Location, bytes: &[u8]) -> io::Result<()> {
    static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
    let (dir, name) = location.parent()?;
    let existing = dir.metadata(name).ok();
    if existing
        .as_ref()
        .is_some_and(|existing| !existing.is_file())
    {
        let why = "the path does not name a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = PathBuf::from(format!(".writing-{}-{number}", process::id()));
    let mut options = OpenOptions::new();
    let mut file = dir.open_with(&temporary, options.write(true).create_new(true))?;
    let write = || {
        if let Some(existing) = existing {
            file.set_permissions(existing.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        dir.rename(&temporary, &dir, name)
    };
    write().inspect_err(|_| {
        // A temporary file that cannot be removed does no harm.
        let _ = dir.remove_file(&temporary);
    })
}
