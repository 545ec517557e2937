//! The error of the run itself, as opposed to what clients lose.

/// An error of the run.
pub(crate) type Problem = Box<dyn std::error::Error + Send + Sync>;
