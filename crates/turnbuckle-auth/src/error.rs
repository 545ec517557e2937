//! The error of this crate.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::outbound::OutboundError;
use crate::transcript::{Recorder, Transcript, clean};

/// The part of the authorization that failed.
///
/// Specification: basic/authorization (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthErrorKind {
    /// A setting cannot be used, for instance a key or a certificate that cannot be read.
    Settings,
    /// No usable metadata of the resource or of its authorization server was found.
    Discovery,
    /// No client id could be obtained.
    Registration,
    /// The user must log in, and the settings do not allow to ask them now.
    LoginRequired,
    /// The login page cannot be shown, or its redirect cannot be received: no port is free, or too many
    /// requests came that were not the redirect.
    LoginUnavailable,
    /// The user or the authorization server refused the authorization, or the user did not finish the
    /// login in time.
    Denied,
    /// The authorization server issued no token.
    Token,
    /// The MCP server refuses the token of a login that has just ended. No other login begins for ten
    /// minutes, unless `OAuth::log_in` asks for one.
    TokenRefused,
    /// A URL from the server is not allowed, for instance a private address that a public server
    /// named.
    UrlRefused,
    /// The credential store cannot be reached, read or written.
    Store,
    /// Other users own the credential store or can read it.
    StoreInsecure,
    /// A value of the credential store is damaged.
    StoreCorrupt,
    /// A key or a value is out of the bounds of the credential store, or there are too many values.
    StoreLimit,
    /// Another caller held a lock of the credential store for too long.
    StoreLocked,
    /// A server could not be reached, or answered too late or with an internal error. A later
    /// attempt may succeed.
    Network,
    /// An answer breaks the rules of the protocol, for instance another `state`.
    Protocol,
    /// The server asked for more scopes again and again.
    StepUpLimit,
}

impl AuthErrorKind {
    /// Returns whether the credential store failed.
    #[must_use]
    pub fn is_store(self) -> bool {
        use AuthErrorKind::{Store, StoreCorrupt, StoreInsecure, StoreLimit, StoreLocked};
        matches!(
            self,
            Store | StoreInsecure | StoreCorrupt | StoreLimit | StoreLocked
        )
    }
}

/// The failure of an authorization, of a login's user interface or of a credential store.
///
/// `Display` is one line that says what failed and what to do. [`transcript`](Self::transcript) has
/// the steps of the login before the failure. Neither holds a secret. Clones share their contents.
///
/// Specification: basic/authorization (2026-07-28).
#[derive(Clone)]
pub struct AuthError(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: AuthErrorKind,
    message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
    transcript: Transcript,
}

impl AuthError {
    /// Creates an error. The message must hold no secret: no value of a store, no query of a redirect.
    #[must_use]
    pub fn new(kind: AuthErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            kind,
            message: clean(&message.into()),
            source: None,
            transcript: Transcript::default(),
        }))
    }

    /// Sets the error's cause, which `Display` shows too.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        Arc::make_mut(&mut self.0).source = Some(Arc::new(source));
        self
    }

    /// Adds the steps before the failure, unless the error has steps already.
    #[must_use]
    pub(crate) fn with_steps(mut self, recorder: &Recorder) -> Self {
        if self.0.transcript.steps.is_empty() {
            Arc::make_mut(&mut self.0).transcript = recorder.transcript();
        }
        self
    }

    /// Returns the part of the authorization that failed.
    #[must_use]
    pub fn kind(&self) -> AuthErrorKind {
        self.0.kind
    }

    /// Returns the steps of the login before the failure.
    #[must_use]
    pub fn transcript(&self) -> &Transcript {
        &self.0.transcript
    }
}

impl From<OutboundError> for AuthError {
    fn from(error: OutboundError) -> Self {
        let kind = match error {
            OutboundError::Refused { .. } => AuthErrorKind::UrlRefused,
            OutboundError::TooLarge { .. } | OutboundError::InvalidRequest { .. } => {
                AuthErrorKind::Protocol
            }
            OutboundError::Unreachable { .. } | OutboundError::TimedOut { .. } => {
                AuthErrorKind::Network
            }
            OutboundError::Setup { .. } => AuthErrorKind::Settings,
        };
        Self::new(kind, error.to_string())
    }
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.kind.is_store() {
            f.write_str("credential store: ")?;
        }
        f.write_str(&self.0.message)?;
        match &self.0.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthError")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .field("transcript", &self.0.transcript)
            .finish()
    }
}

impl Error for AuthError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
