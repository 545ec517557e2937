//! Writing: all of a file, or nothing of it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::OpenOptions;

use crate::grant::Place;

/// Has a file hold these bytes. They are written beside it and then put in its place, so that nobody
/// reads half of them, and a link in its place is replaced and not followed.
pub(crate) fn replace(place: &Place, bytes: &[u8]) -> io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let (dir, name) = place.parent()?;
    let before = dir.metadata(name).ok();
    if before.as_ref().is_some_and(|before| !before.is_file()) {
        let why = "it is not a file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let beside = PathBuf::from(format!(".writing-{}-{number}", process::id()));
    let mut options = OpenOptions::new();
    let mut file = dir.open_with(&beside, options.write(true).create_new(true))?;
    let write = || {
        if let Some(before) = before {
            file.set_permissions(before.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        dir.rename(&beside, &dir, name)
    };
    write().inspect_err(|_| {
        // What could not be put in place is of no use; that it stays is no worse.
        let _ = dir.remove_file(&beside);
    })
}
