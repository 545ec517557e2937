//! The errors of questions to the client.

use std::error::Error;
use std::fmt;

use turnbuckle_types::{ErrorKind, ErrorObject, ProtocolError};

use crate::error::NeedsInput;
use crate::error::failure::{Failure, FailureKind};

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
    /// The client answered the question with an error response.
    Refused(ErrorObject),
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
    /// The effect of a [`once`](crate::Ask::once) with this name has begun in an earlier run, or runs at the
    /// same time, and it is not known whether it took place: that run was interrupted, or could not write
    /// it down. Find out before doing it again.
    OutcomeUnknown(String),
    /// The store of the server failed, so that the body of a [`once`](crate::Ask::once) has not run. The
    /// text says how.
    Store(String),
    /// The run that asked is over. A task that outlives its handler gets this.
    Ended,
    /// The question was invalid, or the body of a [`once`](crate::Ask::once) failed.
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
            Self::Malformed(_) | Self::Changed(_) | Self::TooLarge(_) | Self::Store(_) => {
                self.into_error().into()
            }
            Self::Declined
            | Self::Cancelled
            | Self::Refused(_)
            | Self::Ended
            | Self::OutcomeUnknown(_) => Failure::new(self.to_string()),
        }
    }

    /// Returns the meaning of an error in a chain, if it is an `AskError` or the source of one;
    /// `before` is the error whose source it is.
    pub(crate) fn meaning_of_link(
        error: &(dyn Error + 'static),
        before: &(dyn Error + 'static),
    ) -> Option<FailureKind> {
        let (meaning, text) = match error.downcast_ref::<Self>() {
            Some(Self::Unsupported(error)) => {
                let error = ProtocolError::from_link(error)?;
                let needs = NeedsInput::for_unsupported(error);
                return Some(FailureKind::NeedsInput(needs));
            }
            Some(Self::Failed(failure)) => return failure.copy_meaning(),
            Some(ask) => (*ask.meaning()?, ask.to_string()),
            None => (*error.downcast_ref()?, before.to_string()),
        };
        let error = match meaning {
            AskErrorMeaning::InvalidParams => ProtocolError::invalid_params(text),
            AskErrorMeaning::Internal => ProtocolError::internal(text),
            AskErrorMeaning::ForModel => return Some(FailureKind::Message { text, source: None }),
        };
        Some(FailureKind::Protocol {
            error,
            source: None,
        })
    }

    fn meaning(&self) -> Option<&'static AskErrorMeaning> {
        match self {
            Self::Malformed(_) | Self::Changed(_) => Some(&AskErrorMeaning::InvalidParams),
            Self::TooLarge(_) | Self::Store(_) => Some(&AskErrorMeaning::Internal),
            Self::Declined
            | Self::Cancelled
            | Self::Refused(_)
            | Self::Ended
            | Self::OutcomeUnknown(_) => Some(&AskErrorMeaning::ForModel),
            Self::Unsupported(_) | Self::Failed(_) => None,
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
            Self::Refused(error) => write!(f, "the client refused: {}", error.message),
            Self::Unsupported(error) => error.fmt(f),
            Self::Malformed(reason) => write!(f, "an input response is malformed: {reason}"),
            Self::Changed(reason) => write!(
                f,
                "{reason}: the request has changed on the server; start it again without requestState"
            ),
            Self::TooLarge(reason) => f.write_str(reason),
            Self::OutcomeUnknown(name) => write!(
                f,
                "{name:?} of this request was begun before, and it is not known whether it took place: \
                 find out before starting the request again"
            ),
            Self::Store(reason) => write!(f, "nothing was done: {reason}"),
            Self::Ended => f.write_str("the handler run that asked this question is over"),
            Self::Failed(failure) => fmt::Debug::fmt(failure, f),
        }
    }
}

impl Error for AskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unsupported(error) => Some(error),
            Self::Failed(failure) => failure.source(),
            _ => self
                .meaning()
                .map(|meaning| meaning as &(dyn Error + 'static)),
        }
    }
}

/// The meaning of an [`AskError`] for the protocol. It is the source of the error, since wrappers that
/// hide the type of an error show its sources.
#[derive(Debug, Clone, Copy, thiserror::Error)]
enum AskErrorMeaning {
    #[error("invalid params")]
    InvalidParams,
    #[error("internal error")]
    Internal,
    #[error("no answer")]
    ForModel,
}
