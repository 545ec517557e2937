//! Rules that several servers share, each in a file.

#[cfg(any(feature = "git", feature = "sqlite"))]
pub(crate) mod calls;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod columns;
#[cfg(all(unix, any(feature = "filesystem", feature = "memory")))]
pub(crate) mod owner;
