//! Why a handler has no result.

use std::any::Any;
use std::fmt;

use turnbuckle_types::Error;

use crate::input::{AskError, NeedsInput};
use crate::schema::ArgumentError;

/// What a handler gives instead of a result.
///
/// A tool's failure is told to the model as an error result, so that it can act on it. Everything
/// that can be displayed becomes one with `?`, its causes included where its alternate form (`{:#}`)
/// has them; the protocol's own [`Error`] and [`NeedsInput`] keep their meaning.
///
/// Specification: server/tools, "Error Handling" (2026-07-28).
#[must_use]
pub struct Failure(Kind);

pub(crate) enum Kind {
    /// Something to tell the model or the user.
    Told(String),
    /// An error of the protocol.
    Protocol(Error),
    /// Questions to the client come first.
    Input(Box<NeedsInput>),
    /// The arguments are not what the handler takes.
    Arguments(ArgumentError),
}

impl Failure {
    /// A failure that says `message`: an error result of a tool, an internal error elsewhere.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Kind::Told(message.into()))
    }

    pub(crate) fn arguments(error: ArgumentError) -> Self {
        Self(Kind::Arguments(error))
    }

    pub(crate) fn into_kind(self) -> Kind {
        self.0
    }
}

impl<E: fmt::Display + Send + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut error = Some(error);
        if let Some(error) = taken::<_, Error>(&mut error) {
            return Self(Kind::Protocol(error));
        }
        if let Some(needs) = taken::<_, NeedsInput>(&mut error) {
            return Self(Kind::Input(Box::new(needs)));
        }
        if let Some(unanswered) = taken::<_, AskError>(&mut error) {
            return unanswered.into_failure();
        }
        Self(Kind::Told(
            error.map_or_else(String::new, |error| format!("{error:#}")),
        ))
    }
}

/// What is there, if it is a `T`.
fn taken<E: 'static, T: 'static>(error: &mut Option<E>) -> Option<T> {
    let error: &mut dyn Any = error;
    error.downcast_mut::<Option<T>>()?.take()
}

/// What it says: it is what a `main` that fails with it prints.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Told(message) => f.write_str(message),
            Kind::Protocol(error) => fmt::Display::fmt(error, f),
            Kind::Input(needs) => fmt::Display::fmt(needs, f),
            Kind::Arguments(error) => fmt::Display::fmt(error, f),
        }
    }
}

/// What a handler returns: its result, or a [`Failure`]; and what a `main` returns that runs a
/// server.
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use turnbuckle_types::ErrorKind;

    use super::*;

    #[test]
    fn every_error_keeps_its_meaning() {
        let told: Failure = std::io::Error::other("disk full").into();
        assert!(matches!(told.into_kind(), Kind::Told(message) if message == "disk full"));
        let plain: Failure = "no such city".into();
        assert!(matches!(plain.into_kind(), Kind::Told(message) if message == "no such city"));
        let protocol: Failure = Error::invalid_params("no").into();
        assert!(matches!(
            protocol.into_kind(),
            Kind::Protocol(error) if *error.kind() == ErrorKind::InvalidParams
        ));
        let input: Failure = NeedsInput::new().into();
        assert!(matches!(input.into_kind(), Kind::Input(_)));
    }
}
