//! The errors of questions to the client.

use std::fmt;

use turnbuckle_types::{ErrorKind, ProtocolError};

use crate::error::failure::Failure;
use crate::input::NeedsInput;

/// The reason that a question has no answer.
///
/// With `?` in a handler it becomes a failure: unsupported questions and malformed answers are sent
/// as the protocol's own errors, everything else as text.
///
/// Specification: client/elicitation, "Response Actions" (2026-07-28).
#[derive(Debug)]
#[non_exhaustive]
pub enum AskError {
    /// The user, or the client on their behalf, declined.
    Declined,
    /// The user closed the question without a choice.
    Cancelled,
    /// The client did not declare the capability, or its revision does not have the question. The
    /// error names what is missing. Nothing was sent.
    Unsupported(ProtocolError),
    /// The answer does not have the requested form. The text names the field, never the value.
    Malformed(String),
    /// The handler asks other questions than before, or in another order. The request has to be
    /// started again.
    Changed(String),
    /// There are too many questions, or the state to keep between two rounds is too large. The text
    /// names the bound and the largest part.
    TooLarge(String),
    /// The run that asked is over. A task that outlives its handler gets this.
    Ended,
    /// The question was invalid, or the body of a [`once`](super::Ask::once) failed.
    Failed(Failure),
}

impl AskError {
    /// Returns the protocol error for a client that cannot be asked any more.
    pub(crate) fn into_error(self) -> ProtocolError {
        match self {
            Self::Unsupported(error) => error,
            Self::Malformed(_) | Self::Changed(_) => {
                ProtocolError::invalid_params(self.to_string())
            }
            _ => ProtocolError::internal(self.to_string()),
        }
    }

    /// Returns the failure with which a handler ends.
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            Self::Unsupported(error) => NeedsInput::for_unsupported(error).into(),
            Self::Malformed(_) | Self::Changed(_) | Self::TooLarge(_) => self.into_error().into(),
            Self::Declined | Self::Cancelled | Self::Ended => Failure::new(self.to_string()),
        }
    }

    /// Returns the error for a question that could not be asked.
    pub(crate) fn before_asking(error: ProtocolError) -> Self {
        match error.kind() {
            ErrorKind::MissingRequiredClientCapability(_) => Self::Unsupported(error),
            _ => Self::Failed(error.into()),
        }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declined => f.write_str("the user declined to answer"),
            Self::Cancelled => f.write_str("the user closed the question without an answer"),
            Self::Unsupported(error) => error.fmt(f),
            Self::Malformed(reason) => write!(f, "an input response is malformed: {reason}"),
            Self::Changed(reason) => write!(
                f,
                "{reason}: the request has changed on the server; start it again without requestState"
            ),
            Self::TooLarge(reason) => f.write_str(reason),
            Self::Ended => f.write_str("the handler run that asked this question is over"),
            Self::Failed(failure) => fmt::Debug::fmt(failure, f),
        }
    }
}

impl std::error::Error for AskError {}
