//! Errors of building a server, and failures of handlers.

mod argument_error;
mod ask_error;
pub(crate) mod chain;
pub(crate) mod failure;
pub(crate) mod into_failure;
mod needs_input;

pub(crate) use argument_error::ArgumentError;
pub use ask_error::AskError;
pub use needs_input::NeedsInput;

/// A mistake in the definition of a server, or of several, found when it is built or changed. The text
/// says what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BuildError(String);

impl BuildError {
    /// Creates an error with a text that says what to change.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}
