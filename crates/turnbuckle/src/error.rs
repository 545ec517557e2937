//! The error of a program that serves, builds, tests or calls a server.

use std::error::Error as StdError;
use std::fmt;

use turnbuckle_server::Failure;
use turnbuckle_types::base::error_chain::ErrorChain;

type BoxError = Box<dyn StdError + Send + Sync>;

/// The result of a program's `main`, and of everything that a program calls: [`Run`](crate::Run),
/// the testing kit, and by `?` building a server and connecting a client.
///
/// The result of a handler is another type: the [`Result`](crate::prelude::Result) of the prelude,
/// whose error is a [`Failure`].
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// The error that a program receives when it runs, builds or tests a server, or calls one.
///
/// It is a [`std::error::Error`]: `?` converts it to `anyhow::Error`, `Box<dyn Error>` and, with
/// `#[from]`, to the error types of `thiserror`. Every other error of turnbuckle converts to it by
/// `?`, and so does text; [`downcast_ref`](Self::downcast_ref) gives it back. For errors of other
/// libraries there is [`other`](Self::other), or a `main` that returns `Result<(), Box<dyn Error>>`.
///
/// [`Display`](fmt::Display) says what failed and what to do. [`Debug`], which `main` prints, adds
/// the causes.
///
/// ```
/// use turnbuckle::{Error, Server};
///
/// #[derive(Debug)]
/// enum StartError {
///     Server(Error),
///     Database(std::io::Error),
/// }
///
/// impl From<Error> for StartError {
///     fn from(error: Error) -> Self {
///         Self::Server(error)
///     }
/// }
///
/// fn server() -> turnbuckle::Result<Server> {
///     Ok(Server::new("shop", "1.0.0").build()?)
/// }
///
/// fn start() -> Result<Server, StartError> {
///     std::fs::metadata(".").map_err(StartError::Database)?;
///     Ok(server()?)
/// }
/// # start().unwrap();
/// ```
pub struct Error(Box<Repr>);

enum Repr {
    /// A message, with the cause.
    Message(String, Option<BoxError>),
    /// An error of another type, which is shown as itself.
    Other(BoxError),
}

impl Error {
    /// Creates an error with a message that says what failed and what to do.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Repr::Message(message.into(), None)))
    }

    /// Creates an error that shows itself as `error` does, for an error of a library or of your own
    /// program: `open(path).map_err(turnbuckle::Error::other)?`.
    #[must_use]
    pub fn other(error: impl Into<BoxError>) -> Self {
        Self(Box::new(Repr::Other(error.into())))
    }

    /// Sets the cause. The message need not repeat it.
    #[must_use]
    pub fn with_source(self, source: impl Into<BoxError>) -> Self {
        let source = Some(source.into());
        Self(Box::new(Repr::Message(self.to_string(), source)))
    }

    /// Returns the error that this one was converted from, if it is an `E`: for example a
    /// [`BuildError`](crate::BuildError), a [`std::io::Error`] or a `client::Error`.
    #[must_use]
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        match &*self.0 {
            Repr::Message(_, source) => source.as_ref()?.downcast_ref(),
            Repr::Other(error) => error.downcast_ref(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Repr::Message(message, _) => f.write_str(message),
            Repr::Other(error) => error.fmt(f),
        }
    }
}

/// Prints the message and its causes in one line.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&ErrorChain(self), f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.0 {
            Repr::Message(_, source) => source
                .as_deref()
                .map(|source| source as &(dyn StdError + 'static)),
            Repr::Other(error) => error.source(),
        }
    }
}

/// Converts errors that are shown as themselves.
macro_rules! from_errors {
    ($($(#[$cfg:meta])* $Other:ty),* $(,)?) => {$(
        $(#[$cfg])*
        impl From<$Other> for Error {
            fn from(error: $Other) -> Self {
                Self::other(error)
            }
        }
    )*};
}

from_errors! {
    std::io::Error,
    turnbuckle_server::AskError,
    turnbuckle_server::BuildError,
    turnbuckle_server::KeyError,
    turnbuckle_server::RandomnessUnavailable,
    turnbuckle_server::TemplateError,
    turnbuckle_types::NotBase64,
    turnbuckle_types::ProtocolError,
    turnbuckle_types::RootError,
    #[cfg(feature = "apps")]
    turnbuckle_apps::PageError,
    #[cfg(feature = "store")]
    turnbuckle_store::StoreError,
    #[cfg(feature = "client")]
    turnbuckle_client::Error,
    #[cfg(all(feature = "client", feature = "http"))]
    turnbuckle_http::ConnectorError,
    #[cfg(feature = "servers")]
    turnbuckle_servers::Error,
    #[cfg(feature = "servers")]
    turnbuckle_servers::config::ConfigError,
    #[cfg(feature = "auth")]
    turnbuckle_auth::server::ResourceServerError,
    #[cfg(feature = "auth")]
    turnbuckle_auth::AuthError,
    #[cfg(feature = "auth-testing")]
    turnbuckle_auth_testing::TestServerError,
    #[cfg(feature = "auth-testing")]
    turnbuckle_auth_testing::store_contract::ContractViolation,
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

/// Converts the failure of a handler that is called as a function.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::new(format!("{failure:?}"))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn main_prints_the_message_and_each_cause_once() {
        let error = Error::new("cannot serve HTTP on 127.0.0.1:80")
            .with_source(io::Error::other("permission denied"));
        assert_eq!(error.to_string(), "cannot serve HTTP on 127.0.0.1:80");
        let printed = format!("{error:?}");
        assert_eq!(
            printed,
            "cannot serve HTTP on 127.0.0.1:80: permission denied"
        );
        let repeated = Error::new("busy: in use").with_source(io::Error::other("in use"));
        assert_eq!(format!("{repeated:?}"), "busy: in use");
    }

    #[test]
    fn a_converted_error_shows_itself_and_can_be_taken_back() {
        let error = Error::from(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(error.to_string(), "entity not found");
        let io = error.downcast_ref::<io::Error>().unwrap();
        assert_eq!(io.kind(), io::ErrorKind::NotFound);
        assert!(error.source().is_none());
        let text = Error::from("NOTES_DB is not set");
        assert_eq!(format!("{text:?}"), "NOTES_DB is not set");
        let number = "x".parse::<u8>().map_err(Error::other).unwrap_err();
        assert_eq!(number.to_string(), "invalid digit found in string");
        assert!(number.downcast_ref::<std::num::ParseIntError>().is_some());
        let opened = Error::new("cannot open").with_source(io::Error::other("gone"));
        assert!(opened.downcast_ref::<io::Error>().is_some());
    }
}
