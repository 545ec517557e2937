//! Owners of files that are replaced.

use std::os::fd::AsFd;
use std::os::unix::fs::fchown;

/// Gives a file the owner and the group of the one that it replaces, as far as the system lets this process.
pub(crate) fn keep_owner(file: impl AsFd, owner: u32, group: u32) {
    // Only root gives files away; others choose among their own groups.
    if fchown(&file, Some(owner), Some(group)).is_err() {
        let _ = fchown(&file, None, Some(group));
    }
}
