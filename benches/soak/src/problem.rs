//! The errors of a soak.

/// An error, for people.
pub(crate) type Problem = Box<dyn std::error::Error + Send + Sync>;

pub(crate) type Result<T = (), E = Problem> = std::result::Result<T, E>;
