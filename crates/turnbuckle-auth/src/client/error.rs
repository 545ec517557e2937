//! The error of a client's authorization, with the record of the steps before it.

use std::fmt;
use std::sync::Arc;

use super::transcript::{Recorder, Transcript, clean};
use crate::outbound::OutboundError;

/// The part of the authorization that failed.
///
/// Specification: basic/authorization (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthErrorKind {
    /// No usable metadata of the resource or of its authorization server was found.
    Discovery,
    /// No client id could be obtained.
    Registration,
    /// The user must log in, and the settings do not allow to ask them now.
    LoginRequired,
    /// The user or the authorization server refused the authorization.
    Denied,
    /// The authorization server issued no token.
    Token,
    /// The MCP server refuses the token of a login that has just ended. No other login begins for ten
    /// minutes, unless [`OAuth::log_in`](super::OAuth::log_in) asks for one.
    TokenRefused,
    /// A URL from the server is not allowed, for instance a private address that a public server
    /// named.
    UrlRefused,
    /// The credential store failed.
    Store,
    /// A server could not be reached, or answered too late or with an internal error. A later
    /// attempt may succeed.
    Network,
    /// An answer breaks the rules of the protocol, for instance another `state`.
    Protocol,
    /// The server asked for more scopes again and again.
    StepUpLimit,
}

/// The failure of a client's authorization.
///
/// `Display` is one line that says what failed and what to do. [`transcript`](Self::transcript) has
/// every step before it. Neither holds a secret.
///
/// Specification: basic/authorization (2026-07-28).
#[derive(Clone)]
pub struct AuthError(Arc<AuthErrorInner>);

struct AuthErrorInner {
    kind: AuthErrorKind,
    message: String,
    transcript: Transcript,
}

impl AuthError {
    /// Creates an error with the steps that `recorder` has so far.
    pub(crate) fn new(
        kind: AuthErrorKind,
        message: impl Into<String>,
        recorder: &Recorder,
    ) -> Self {
        let message = clean(&message.into());
        let transcript = recorder.transcript();
        Self(Arc::new(AuthErrorInner {
            kind,
            message,
            transcript,
        }))
    }

    /// Creates the error of an HTTP request that failed.
    pub(crate) fn from_outbound(error: &OutboundError, recorder: &Recorder) -> Self {
        let kind = match error {
            OutboundError::Refused { .. } => AuthErrorKind::UrlRefused,
            OutboundError::TooLarge { .. } | OutboundError::InvalidRequest { .. } => {
                AuthErrorKind::Protocol
            }
            OutboundError::Unreachable { .. }
            | OutboundError::TimedOut { .. }
            | OutboundError::Setup { .. } => AuthErrorKind::Network,
        };
        Self::new(kind, error.to_string(), recorder)
    }

    /// Returns the part of the authorization that failed.
    #[must_use]
    pub fn kind(&self) -> AuthErrorKind {
        self.0.kind
    }

    /// Returns the steps before the failure.
    #[must_use]
    pub fn transcript(&self) -> &Transcript {
        &self.0.transcript
    }
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthError")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("transcript", &self.0.transcript)
            .finish()
    }
}

impl std::error::Error for AuthError {}
