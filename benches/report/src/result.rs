//! The result of a measurement.

/// A result whose error is for people.
pub(crate) type Result<T = (), E = Box<dyn std::error::Error + Send + Sync>> =
    std::result::Result<T, E>;
