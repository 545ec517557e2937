//! Why a handler has no result.

use std::fmt;

use turnbuckle_types::Error;

use crate::input::NeedsInput;

/// What a handler gives instead of a result.
///
/// A tool's failure is told to the model as an error result, so that it can act on it. Every error
/// type becomes one with `?`; the protocol's own [`Error`] and [`NeedsInput`] keep their meaning.
#[must_use]
pub struct Failure(Kind);

pub(crate) enum Kind {
    /// Something to tell the model or the user.
    Told(String),
    /// An error of the protocol.
    Protocol(Error),
    /// Questions to the client come first.
    Input(Box<NeedsInput>),
}

impl Failure {
    /// A failure that says `message`: an error result of a tool, an internal error elsewhere.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Kind::Told(message.into()))
    }

    pub(crate) fn into_kind(self) -> Kind {
        self.0
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let error: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
        let error = match error.downcast::<Error>() {
            Ok(error) => return Self(Kind::Protocol(*error)),
            Err(other) => other,
        };
        match error.downcast::<NeedsInput>() {
            Ok(needs) => Self(Kind::Input(needs)),
            Err(other) => Self(Kind::Told(other.to_string())),
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Told(message) => f.debug_tuple("Failure").field(message).finish(),
            Kind::Protocol(error) => f.debug_tuple("Failure").field(error).finish(),
            Kind::Input(needs) => f.debug_tuple("Failure").field(needs).finish(),
        }
    }
}

/// What a handler returns: its result, or a [`Failure`].
pub type Result<T, E = Failure> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use turnbuckle_types::ErrorKind;

    use super::*;

    #[test]
    fn every_error_keeps_its_meaning() {
        let told: Failure = std::io::Error::other("disk full").into();
        assert!(matches!(told.into_kind(), Kind::Told(message) if message == "disk full"));
        let protocol: Failure = Error::invalid_params("no").into();
        assert!(matches!(
            protocol.into_kind(),
            Kind::Protocol(error) if *error.kind() == ErrorKind::InvalidParams
        ));
        let input: Failure = NeedsInput::new().into();
        assert!(matches!(input.into_kind(), Kind::Input(_)));
    }
}
