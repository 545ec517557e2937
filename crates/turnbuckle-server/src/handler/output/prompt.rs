//! Messages that a prompt's handler can return.

use turnbuckle_types::{GetPromptResult, PromptMessage};

use crate::error::failure::Result;
use crate::error::into_failure::IntoFailure;

/// A type that the handler of a prompt can return.
///
/// Specification: server/prompts, "PromptMessage" (2026-07-28).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a prompt",
    note = "text, a `PromptMessage`, several in a `Vec`, a `GetPromptResult`, or a `Result` of one with an error that implements `IntoFailure`"
)]
pub trait PromptOutput: Send + 'static {
    /// Converts into the result.
    ///
    /// # Errors
    /// When the output is a failure.
    fn into_result(self) -> Result<GetPromptResult>;
}

impl PromptOutput for GetPromptResult {
    fn into_result(self) -> Result<GetPromptResult> {
        Ok(self)
    }
}

impl PromptOutput for Vec<PromptMessage> {
    fn into_result(self) -> Result<GetPromptResult> {
        Ok(GetPromptResult::new(self))
    }
}

impl PromptOutput for PromptMessage {
    fn into_result(self) -> Result<GetPromptResult> {
        vec![self].into_result()
    }
}

impl PromptOutput for &'static str {
    fn into_result(self) -> Result<GetPromptResult> {
        self.to_owned().into_result()
    }
}

impl PromptOutput for String {
    fn into_result(self) -> Result<GetPromptResult> {
        PromptMessage::user(turnbuckle_types::ContentBlock::text(self)).into_result()
    }
}

impl<T: PromptOutput, E: IntoFailure + Send + 'static> PromptOutput for std::result::Result<T, E> {
    fn into_result(self) -> Result<GetPromptResult> {
        self.map_err(IntoFailure::into_failure)?.into_result()
    }
}
