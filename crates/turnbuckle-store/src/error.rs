//! The error of a store.

use std::error::Error;
use std::fmt;

/// The reason that a store could not do something. `Display` says what happened and what to do.
#[derive(Debug)]
pub struct StoreError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: StoreErrorKind,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The reasons for which operations of stores fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store cannot be reached, or has failed and is not asked for a while.
    Unavailable,
    /// Too many operations wait for the store.
    Busy,
    /// The store did not answer in time. The operation may have taken place.
    TimedOut,
    /// A key, value, entry, message or job is larger than the bound of the trait.
    TooLarge,
    /// An argument makes no sense, such as a time to live of zero.
    Invalid,
    /// The store has no room.
    Full,
    /// The store holds something that no store of this kind writes, or what it holds was changed.
    Corrupt,
    /// The store was written by a newer release.
    NewerVersion,
    /// A value was sealed with a key that is not in the key ring.
    UnknownKey,
    /// The store must not be used as it is set up, such as a file that others may write.
    Misconfigured,
}

impl StoreErrorKind {
    /// Returns the name of the kind, as metrics and spans have it: lower case with underscores.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Busy => "busy",
            Self::TimedOut => "timed_out",
            Self::TooLarge => "too_large",
            Self::Invalid => "invalid",
            Self::Full => "full",
            Self::Corrupt => "corrupt",
            Self::NewerVersion => "newer_version",
            Self::UnknownKey => "unknown_key",
            Self::Misconfigured => "misconfigured",
        }
    }

    /// Returns whether the store itself failed, rather than that it refused an operation.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Unavailable | Self::TimedOut)
    }
}

impl StoreError {
    /// Creates an error. The message says what happened and what to do.
    #[must_use]
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            source: None,
        }))
    }

    /// Adds the error that caused this one.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.0.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}
