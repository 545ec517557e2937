//! Why a question has no answer.

use std::fmt;

use turnbuckle_types::{Error, ErrorKind};

use crate::failure::Failure;
use crate::input::{NeedsInput, NoAnswer};

/// Why a question has no answer.
///
/// With `?` in a handler it becomes what it means to the client: what cannot be asked and what
/// came malformed is told as the protocol has it, everything else by its text.
///
/// Specification: client/elicitation, "Response Actions" (2026-07-28).
#[derive(Debug)]
#[non_exhaustive]
pub enum AskError {
    /// The user, or the client for them, said no.
    Declined,
    /// The user closed the question without a choice.
    Cancelled,
    /// The client did not declare that it can be asked that, or its revision cannot say it. The
    /// error names what is missing. Nothing was sent.
    Unsupported(Error),
    /// The answer is not what was asked for; the text names the place, never the value.
    Malformed(String),
    /// The handler is not the one that asked before: what it asks now, or in which order, does not
    /// fit what is recorded. The request has to be started again.
    Changed(String),
    /// The questions are too many, or what has to be kept between the rounds is too large; the text
    /// names the bound, and what fills it.
    TooLarge(String),
    /// The run that asked is over. A task that outlives its handler's run gets this.
    Ended,
    /// The question could not be put, or a body of [`once`](super::Ask::once) failed.
    Failed(Failure),
}

impl AskError {
    /// The error to answer a client with that cannot be asked anything more.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Unsupported(error) => error,
            Self::Malformed(_) | Self::Changed(_) => Error::invalid_params(self.to_string()),
            _ => Error::internal(self.to_string()),
        }
    }

    /// The failure that a handler ends with.
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            Self::Unsupported(error) => NeedsInput::unable(error).into(),
            Self::Malformed(_) | Self::Changed(_) | Self::TooLarge(_) => self.into_error().into(),
            Self::Declined | Self::Cancelled | Self::Ended => Failure::new(self.to_string()),
        }
    }

    /// What is wrong with a question before it is put.
    pub(crate) fn unaskable(error: Error) -> Self {
        match error.kind() {
            ErrorKind::MissingCapability(_) => Self::Unsupported(error),
            _ => Self::Failed(error.into()),
        }
    }
}

impl From<NoAnswer> for AskError {
    fn from(reason: NoAnswer) -> Self {
        match reason {
            NoAnswer::Unable(error) => Self::unaskable(error),
            NoAnswer::Failed(error) => Self::Failed(Failure::new(error.to_string())),
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
                "{reason}: the request has changed on the server, start it again without requestState"
            ),
            Self::TooLarge(reason) => f.write_str(reason),
            Self::Ended => f.write_str("the run of the handler that asked this is over"),
            Self::Failed(failure) => fmt::Debug::fmt(failure, f),
        }
    }
}

impl std::error::Error for AskError {}
