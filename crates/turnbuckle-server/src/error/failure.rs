//! Failures of handlers.

use std::error::Error;
use std::fmt;

use turnbuckle_types::ProtocolError;
use turnbuckle_types::base::error_chain::ErrorChain;

use crate::error::chain::find_meaning;
use crate::error::{ArgumentError, AskError, NeedsInput};

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// The failure of a handler.
///
/// A tool's failure becomes an error result, so that the model can react to it; elsewhere it becomes
/// an internal error.
///
/// | made by | the client reads | the log has, at `warn` |
/// |---|---|---|
/// | [`new`](Self::new), [`for_model`](Self::for_model) | the message | the cause, if there is one |
/// | `?` on any error, text, `anyhow::Error` or boxed error | the message of that error, without its sources; nothing of it if errors are [masked](crate::ServerBuilder::mask_error_details) | the error with all its sources |
/// | [`hidden`](Self::hidden) | a neutral sentence with a reference | the error with all its sources, and the reference |
/// | `?` on a [`ProtocolError`], an [`AskError`] or a [`NeedsInput`], also below the contexts of another error | the protocol's own error or question | the contexts |
///
/// A panic is never shown. [`IntoFailure`](crate::IntoFailure) converts an error type of your own.
///
/// Specification: server/tools, "Error Handling" (2026-07-28).
#[must_use]
pub struct Failure(Box<FailureKind>);

/// The reader that a failure is for, with its content.
pub(crate) enum FailureKind {
    /// A message that is meant for the model or the user, and the cause for the log.
    Message {
        text: String,
        source: Option<BoxError>,
    },
    /// An error of the application.
    Error {
        error: BoxError,
        /// True if clients never read its message.
        is_hidden: bool,
    },
    /// An error of the protocol, and the error that it was found in.
    Protocol {
        error: ProtocolError,
        source: Option<BoxError>,
    },
    /// Questions that the client has to answer first.
    NeedsInput(NeedsInput),
    /// Arguments that do not match the handler's parameters.
    Arguments(ArgumentError),
}

impl Failure {
    /// Creates a failure with a message that is meant for the model or the user: it is sent also if
    /// errors are [masked](crate::ServerBuilder::mask_error_details).
    pub fn new(message: impl Into<String>) -> Self {
        Self::from_kind(FailureKind::Message {
            text: message.into(),
            source: None,
        })
    }

    /// Creates a failure with the message of an error, which is meant for the model or the user as
    /// it stands: `text.parse().map_err(Failure::for_model)?`. Its sources are only logged.
    pub fn for_model(error: impl Into<BoxError>) -> Self {
        let error = error.into();
        Self::new(error.to_string()).with_source(error)
    }

    /// Creates a failure of which clients read nothing but a neutral sentence with a reference. The
    /// log has the error, its sources and the reference.
    pub fn hidden(error: impl Into<BoxError>) -> Self {
        Self::from_kind(FailureKind::Error {
            error: error.into(),
            is_hidden: true,
        })
    }

    /// Sets the cause, which is logged and never sent.
    pub fn with_source(mut self, error: impl Into<BoxError>) -> Self {
        match &mut *self.0 {
            FailureKind::Message { source, .. } | FailureKind::Protocol { source, .. } => {
                *source = Some(error.into());
            }
            FailureKind::Error { .. } | FailureKind::NeedsInput(_) | FailureKind::Arguments(_) => {}
        }
        self
    }

    /// Returns the error inside, if there is one.
    pub(crate) fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &*self.0 {
            FailureKind::Message { source, .. } => {
                let source = source.as_deref()?;
                Some(source)
            }
            FailureKind::Error { error, .. } => Some(&**error),
            FailureKind::Protocol { error, .. } => Some(error),
            FailureKind::NeedsInput(needs) => Some(needs),
            FailureKind::Arguments(error) => Some(error),
        }
    }

    /// Returns a copy of the meaning of the failure, without its causes; `None` for an error of the
    /// application.
    pub(crate) fn copy_meaning(&self) -> Option<FailureKind> {
        match &*self.0 {
            FailureKind::Message { text, .. } => Some(FailureKind::Message {
                text: text.clone(),
                source: None,
            }),
            _ => find_meaning(self.source()?),
        }
    }

    pub(crate) fn arguments(error: ArgumentError) -> Self {
        Self::from_kind(FailureKind::Arguments(error))
    }

    pub(crate) fn from_kind(kind: FailureKind) -> Self {
        Self(Box::new(kind))
    }

    pub(crate) fn into_kind(self) -> FailureKind {
        *self.0
    }

    fn from_error(error: BoxError) -> Self {
        let error = match error.downcast() {
            Ok(error) => {
                return Self::from_kind(FailureKind::Protocol {
                    error: *error,
                    source: None,
                });
            }
            Err(error) => error,
        };
        let error = match error.downcast() {
            Ok(needs) => return Self::from_kind(FailureKind::NeedsInput(*needs)),
            Err(error) => error,
        };
        let error = match error.downcast::<AskError>() {
            Ok(unanswered) => return unanswered.into_failure(),
            Err(error) => error,
        };
        match find_meaning(&*error) {
            Some(meaning) => Self::from_kind(meaning).with_source(error),
            None => Self::from_kind(FailureKind::Error {
                error,
                is_hidden: false,
            }),
        }
    }
}

impl<E: Into<BoxError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::from_error(error.into())
    }
}

/// Prints the message and all causes, since a `main` that returns a failure prints this.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            FailureKind::Message { text, source } => {
                f.write_str(text)?;
                match source
                    .as_deref()
                    .map(|source| ErrorChain(source).to_string())
                {
                    Some(causes) if !causes.starts_with(text.as_str()) => write!(f, ": {causes}"),
                    Some(causes) => f.write_str(&causes[text.len()..]),
                    None => Ok(()),
                }
            }
            FailureKind::Error { error, .. } => fmt::Display::fmt(&ErrorChain(&**error), f),
            FailureKind::Protocol { error, source } => match source {
                Some(source) => fmt::Display::fmt(&ErrorChain(&**source), f),
                None => fmt::Display::fmt(error, f),
            },
            FailureKind::NeedsInput(needs) => fmt::Display::fmt(needs, f),
            FailureKind::Arguments(error) => fmt::Display::fmt(error, f),
        }
    }
}

/// The result of a handler.
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use turnbuckle_types::ErrorKind;

    use super::*;

    /// An error with a source, as a chain of contexts makes them.
    #[derive(Debug)]
    struct Context(&'static str, BoxError);

    impl fmt::Display for Context {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Context {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&*self.1)
        }
    }

    fn code(failure: Failure) -> Option<ErrorKind> {
        match failure.into_kind() {
            FailureKind::Protocol { error, .. } => Some(error.kind().clone()),
            _ => None,
        }
    }

    #[test]
    fn every_error_keeps_its_meaning() {
        let failure: Failure = std::io::Error::other("disk full").into();
        assert!(matches!(
            failure.into_kind(),
            FailureKind::Error { error, is_hidden: false } if error.to_string() == "disk full"
        ));
        let plain: Failure = "no such city".into();
        assert_eq!(format!("{plain:?}"), "no such city");
        let protocol = ProtocolError::invalid_params("no").into();
        assert_eq!(code(protocol), Some(ErrorKind::InvalidParams));
        let input: Failure = NeedsInput::new().into();
        assert!(matches!(input.into_kind(), FailureKind::NeedsInput(_)));
    }

    #[test]
    fn a_protocol_error_keeps_its_kind_below_contexts() {
        let missing = ProtocolError::resource_not_found("notes://1");
        let context = Context("loading", Box::new(Context("reading", missing.into())));
        assert_eq!(code(context.into()), Some(ErrorKind::ResourceNotFound));
        let malformed = AskError::Malformed("a field".to_owned());
        let context = Context("asking", Box::new(malformed));
        assert_eq!(code(context.into()), Some(ErrorKind::InvalidParams));
        let needs = NeedsInput::new().ask("go", turnbuckle_types::InputRequest::list_roots());
        let failure = Failure::from(Context("asking", Box::new(needs)));
        assert!(
            matches!(failure.into_kind(), FailureKind::NeedsInput(needs) if needs.check().is_ok())
        );
    }

    #[test]
    fn the_kind_is_found_through_a_wrapper_that_hides_the_error_itself() {
        /// As anyhow's box: the error's text and source, but not its type.
        #[derive(Debug)]
        struct Opaque(BoxError);
        impl fmt::Display for Opaque {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
        impl Error for Opaque {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                self.0.source()
            }
        }
        let missing = ProtocolError::invalid_params("there are 99 pages");
        let FailureKind::Protocol { error, .. } = Failure::from(Opaque(missing.into())).into_kind()
        else {
            panic!("no protocol error")
        };
        assert_eq!(error.message(), "there are 99 pages");
        let malformed = AskError::Malformed("a field".to_owned());
        let failure = Failure::from(Opaque(malformed.into()));
        assert_eq!(code(failure), Some(ErrorKind::InvalidParams));
        let failure = Failure::from(Opaque(NeedsInput::new().into()));
        assert!(matches!(failure.into_kind(), FailureKind::NeedsInput(_)));
    }

    #[test]
    fn a_failure_prints_each_cause_once() {
        let disk = || Box::new(std::io::Error::other("disk full"));
        let failure = Failure::from(Context("cannot save", disk()));
        assert_eq!(format!("{failure:?}"), "cannot save: disk full");
        let failure = Failure::for_model(Context("cannot save", disk()));
        assert_eq!(format!("{failure:?}"), "cannot save: disk full");
        let failure = Failure::new("try later").with_source(disk());
        assert_eq!(format!("{failure:?}"), "try later: disk full");
    }
}
