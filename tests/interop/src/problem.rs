//! The error type of the program.

use std::error::Error;

/// A description of a failure, for people.
pub(crate) type Problem = Box<dyn Error + Send + Sync>;
