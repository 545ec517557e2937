//! The bounds that every store keeps, and the checks of them that stores call.

use std::time::Duration;

use bytes::Bytes;

use crate::error::{StoreError, StoreErrorKind};
pub use crate::types::MAX_KEY_BYTES;
use crate::types::{Keep, ReadLimit};

/// The most bytes of a value.
pub const MAX_VALUE_BYTES: usize = 1 << 20;

/// The most bytes of an entry of a log.
pub const MAX_ENTRY_BYTES: usize = 1 << 20;

/// The most bytes of a message of a topic, and of a job of a queue.
pub const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// The most entries that are appended at once.
pub const MAX_APPEND_ENTRIES: usize = 1024;

/// The most bytes that are appended at once.
pub const MAX_APPEND_BYTES: usize = 4 << 20;

/// The most entries that one read returns.
pub const MAX_READ_ENTRIES: usize = 1024;

/// The most bytes that one read returns, unless its first entry has more.
pub const MAX_READ_BYTES: usize = 4 << 20;

/// The most keys that are touched at once.
pub const MAX_TOUCH_KEYS: usize = 1024;

/// The longest time to live.
pub const MAX_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

impl Default for ReadLimit {
    fn default() -> Self {
        Self {
            entries: MAX_READ_ENTRIES,
            bytes: MAX_READ_BYTES,
        }
    }
}

/// Checks a value.
///
/// # Errors
/// If it is larger than [`MAX_VALUE_BYTES`].
pub fn check_value(value: &Bytes) -> Result<(), StoreError> {
    check_size("a value", value.len(), MAX_VALUE_BYTES)
}

/// Checks a message of a topic.
///
/// # Errors
/// If it is larger than [`MAX_MESSAGE_BYTES`].
pub fn check_message(message: &Bytes) -> Result<(), StoreError> {
    check_size("a message", message.len(), MAX_MESSAGE_BYTES)
}

/// Checks a job of a queue.
///
/// # Errors
/// If it is larger than [`MAX_MESSAGE_BYTES`].
pub fn check_job(job: &Bytes) -> Result<(), StoreError> {
    check_size("a job", job.len(), MAX_MESSAGE_BYTES)
}

/// Checks entries that are appended, and what is kept of their log.
///
/// # Errors
/// If there are none, more than [`MAX_APPEND_ENTRIES`], one larger than [`MAX_ENTRY_BYTES`], more than
/// [`MAX_APPEND_BYTES`] in sum, or if nothing is kept.
pub fn check_append(entries: &[Bytes], keep: &Keep) -> Result<(), StoreError> {
    if entries.is_empty() || keep.entries == 0 {
        return Err(invalid("append at least one entry, and keep at least one"));
    }
    for entry in entries {
        check_size("an entry", entry.len(), MAX_ENTRY_BYTES)?;
    }
    let bytes = entries.iter().map(Bytes::len).sum();
    check_size("the entries of one append", bytes, MAX_APPEND_BYTES)?;
    check_count(
        "the entries of one append",
        entries.len(),
        MAX_APPEND_ENTRIES,
    )?;
    check_ttl(keep.ttl)
}

/// Checks the number of keys that are touched at once.
///
/// # Errors
/// If there are more than [`MAX_TOUCH_KEYS`].
pub fn check_touch(keys: usize) -> Result<(), StoreError> {
    check_count("the keys of one touch", keys, MAX_TOUCH_KEYS)
}

/// Checks a time to live, or a time for which a job is hidden.
///
/// # Errors
/// If it is shorter than a millisecond, or longer than [`MAX_TTL`].
pub fn check_ttl(ttl: Duration) -> Result<(), StoreError> {
    if ttl < Duration::from_millis(1) || ttl > MAX_TTL {
        return Err(invalid(&format!(
            "a time to live of {ttl:?}: it must be 1 ms to 366 days"
        )));
    }
    Ok(())
}

/// Returns the limit of a read with the bounds of every read.
#[must_use]
pub fn clamp_read(limit: ReadLimit) -> ReadLimit {
    ReadLimit {
        entries: limit.entries.clamp(1, MAX_READ_ENTRIES),
        bytes: limit.bytes.min(MAX_READ_BYTES),
    }
}

fn check_size(thing: &str, bytes: usize, max: usize) -> Result<(), StoreError> {
    if bytes <= max {
        return Ok(());
    }
    let message =
        format!("{thing} for the store has {bytes} bytes of at most {max}: make it smaller");
    Err(StoreError::new(StoreErrorKind::TooLarge, message))
}

fn check_count(things: &str, count: usize, max: usize) -> Result<(), StoreError> {
    if count <= max {
        return Ok(());
    }
    let message = format!("{things} are {count} of at most {max}: split them");
    Err(StoreError::new(StoreErrorKind::TooLarge, message))
}

fn invalid(fault: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::Invalid,
        format!("the store cannot do this: {fault}"),
    )
}
