//! The request that a completer gets.

use turnbuckle_types::Map;

/// A `completion/complete` request: the text typed so far, and the other arguments.
///
/// Specification: server/utilities/completion (2026-07-28).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The text that the user has typed into the argument.
    pub value: String,
    /// The values of other arguments, if the client's revision sends them.
    pub arguments: Map<String>,
}

impl CompletionRequest {
    pub(crate) fn new(value: String, arguments: Map<String>) -> Self {
        Self { value, arguments }
    }
}
