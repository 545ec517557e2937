//! The types of the operations of stores.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::error::{StoreError, StoreErrorKind};

/// The most bytes of a key.
pub const MAX_KEY_BYTES: usize = 256;

/// The key of a value, log, topic or queue: text of 1 to 256 bytes. Cloning it copies a pointer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreKey(Arc<str>);

impl StoreKey {
    /// Creates a key.
    ///
    /// # Errors
    /// If the text is empty or longer than 256 bytes.
    pub fn new(text: impl AsRef<str> + Into<Arc<str>>) -> Result<Self, StoreError> {
        match text.as_ref().len() {
            1..=MAX_KEY_BYTES => Ok(Self(text.into())),
            0 => Err(StoreError::new(
                StoreErrorKind::Invalid,
                "a key of a store is empty: give it 1 to 256 bytes",
            )),
            length => Err(StoreError::new(
                StoreErrorKind::TooLarge,
                format!("a key of a store has {length} bytes of at most {MAX_KEY_BYTES}: hash it"),
            )),
        }
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The version of a value. A store never gives a key the same version twice, not even after the value
/// was removed or has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

/// A value and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned {
    /// The bytes that were put.
    pub value: Bytes,
    /// The version, for [`Condition::Version`].
    pub version: Version,
}

/// The condition of a change of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// No condition.
    Always,
    /// The key has no value.
    Absent,
    /// The value has this version.
    Version(Version),
}

impl Condition {
    /// Returns whether the condition holds for a key whose value has this version.
    #[must_use]
    pub fn holds(self, current: Option<Version>) -> bool {
        match self {
            Self::Always => true,
            Self::Absent => current.is_none(),
            Self::Version(version) => current == Some(version),
        }
    }
}

/// A position in a log: 1 for its first entry; 0 stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position(pub u64);

/// The position at which entries are appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendAt {
    /// The end of the log.
    End,
    /// This position, which must be the next one: for a log that has one writer.
    Exactly(Position),
}

impl AppendAt {
    /// Returns whether entries may be appended behind the entry `last`.
    #[must_use]
    pub fn follows(self, last: Position) -> bool {
        match self {
            Self::End => true,
            Self::Exactly(position) => position.0.checked_sub(1) == Some(last.0),
        }
    }
}

/// The part of a log that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// The most entries: at least 1. Older entries are dropped.
    pub entries: u64,
    /// The time that the log lives from now. After it the log is empty, and its positions begin at 1.
    pub ttl: Duration,
}

/// The bounds of one [`Store::read`](crate::Store::read). The first entry is returned even if it is larger than `bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimit {
    /// The most entries; a store returns no more than
    /// [`MAX_READ_ENTRIES`](crate::bounds::MAX_READ_ENTRIES).
    pub entries: usize,
    /// The most bytes of all entries; a store returns no more than
    /// [`MAX_READ_BYTES`](crate::bounds::MAX_READ_BYTES).
    pub bytes: usize,
}

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogSlice {
    /// Entries whose positions follow each other.
    pub entries: Vec<Bytes>,
    /// The position of the first of `entries`; 0 if there are none. If it is not the one behind `after`,
    /// entries between were dropped.
    pub start: Position,
    /// The position of the oldest entry that is kept; 0 if the log is empty.
    pub first: Position,
    /// The position of the newest entry; 0 if the log is empty.
    pub last: Position,
}

/// A job that this instance has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The queue of the job.
    pub queue: StoreKey,
    /// The name of the job in its queue, which the store chose.
    pub id: u128,
    /// The number of this claim, which tells it from other claims of the job.
    pub token: u64,
    /// The number of times that the job was claimed, this one included.
    pub attempt: u32,
    /// The bytes that were pushed.
    pub job: Bytes,
}
