//! Failures of handlers.

use std::any::Any;
use std::fmt;

use turnbuckle_types::ProtocolError;

use crate::input::{AskError, NeedsInput};
use crate::schema::ArgumentError;

/// The failure of a handler.
///
/// A tool's failure becomes an error result, so that the model can react to it. With `?`, every
/// error that can be displayed becomes a failure with its text (and its causes, if its alternate
/// form `{:#}` shows them). [`ProtocolError`] and [`NeedsInput`] keep their meaning.
///
/// Specification: server/tools, "Error Handling" (2026-07-28).
#[must_use]
pub struct Failure(FailureKind);

/// The kinds of failures.
pub(crate) enum FailureKind {
    /// A message for the model or the user.
    Message(String),
    /// An error of the protocol.
    Protocol(ProtocolError),
    /// Questions that the client has to answer first.
    NeedsInput(Box<NeedsInput>),
    /// Arguments that do not match the handler's parameters.
    Arguments(ArgumentError),
}

impl Failure {
    /// Creates a failure with a message: an error result of a tool, an internal error elsewhere.
    pub fn new(message: impl Into<String>) -> Self {
        Self(FailureKind::Message(message.into()))
    }

    pub(crate) fn arguments(error: ArgumentError) -> Self {
        Self(FailureKind::Arguments(error))
    }

    pub(crate) fn into_kind(self) -> FailureKind {
        self.0
    }
}

impl<E: fmt::Display + Send + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut error = Some(error);
        if let Some(error) = take_as::<_, ProtocolError>(&mut error) {
            return Self(FailureKind::Protocol(error));
        }
        if let Some(needs) = take_as::<_, NeedsInput>(&mut error) {
            return Self(FailureKind::NeedsInput(Box::new(needs)));
        }
        if let Some(unanswered) = take_as::<_, AskError>(&mut error) {
            return unanswered.into_failure();
        }
        Self(FailureKind::Message(
            error.map_or_else(String::new, |error| format!("{error:#}")),
        ))
    }
}

/// Takes the value, if it is a `T`.
fn take_as<E: 'static, T: 'static>(error: &mut Option<E>) -> Option<T> {
    let error: &mut dyn Any = error;
    error.downcast_mut::<Option<T>>()?.take()
}

/// Prints the message, since this is what a `main` that returns a failure prints.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            FailureKind::Message(message) => f.write_str(message),
            FailureKind::Protocol(error) => fmt::Display::fmt(error, f),
            FailureKind::NeedsInput(needs) => fmt::Display::fmt(needs, f),
            FailureKind::Arguments(error) => fmt::Display::fmt(error, f),
        }
    }
}

/// The result of a handler, and of a `main` function that runs a server.
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use turnbuckle_types::ErrorKind;

    use super::*;

    #[test]
    fn every_error_keeps_its_meaning() {
        let failure: Failure = std::io::Error::other("disk full").into();
        assert!(
            matches!(failure.into_kind(), FailureKind::Message(message) if message == "disk full")
        );
        let plain: Failure = "no such city".into();
        assert!(
            matches!(plain.into_kind(), FailureKind::Message(message) if message == "no such city")
        );
        let protocol: Failure = ProtocolError::invalid_params("no").into();
        assert!(matches!(
            protocol.into_kind(),
            FailureKind::Protocol(error) if *error.kind() == ErrorKind::InvalidParams
        ));
        let input: Failure = NeedsInput::new().into();
        assert!(matches!(input.into_kind(), FailureKind::NeedsInput(_)));
    }
}
