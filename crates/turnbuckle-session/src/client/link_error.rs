//! Errors of a link.

use std::fmt;

use turnbuckle_types::AuthorizationFailure;

/// The reason why a link could not deliver a message, or died.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum LinkError {
    /// The server could not be reached: nothing was sent.
    Unreachable {
        /// The cause.
        reason: String,
    },
    /// The connection was lost. The server may have acted upon what was sent.
    ConnectionLost {
        /// The cause.
        reason: String,
    },
    /// The server's process has ended.
    ProcessExited {
        /// The exit status, in words.
        status: String,
        /// The end of what the process wrote to its error output, cut short. Empty where that is
        /// not kept.
        stderr: String,
    },
    /// The server answered with an HTTP status that is no success, and no JSON-RPC message.
    HttpStatus {
        /// The status.
        status: u16,
        /// The beginning of the body, cut short.
        body: String,
    },
    /// The server demands authorization (401) or denies access (403).
    Unauthorized {
        /// The status.
        status: u16,
        /// The value of `WWW-Authenticate`, if there was one.
        challenge: Option<String>,
        /// The reason why the client could not obtain authorization, if it tried.
        failure: Option<AuthorizationFailure>,
        /// The beginning of the body, cut short.
        body: String,
    },
    /// The server does not know the session of the message (HTTP 404). It did not take the message,
    /// so a new session may be opened and the message sent again.
    ///
    /// A session that this error ended reports it for its other requests too, which the server may
    /// have taken before: there `RequestError::Link` has `sent: true`.
    ///
    /// Specification: basic/transports, "Session Management" (2025-11-25).
    SessionNotFound,
    /// A message of the server was larger than this side accepts.
    MessageTooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The server broke the rules of the transport.
    ProtocolViolation {
        /// The rule and what came instead.
        reason: String,
    },
    /// This side closed the link.
    Closed,
}

impl LinkError {
    /// Returns whether the server cannot have acted upon the message that failed.
    #[must_use]
    pub(crate) fn is_unsent(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Unauthorized { .. } | Self::SessionNotFound => true,
            Self::HttpStatus { status, .. } => (400..500).contains(status),
            _ => false,
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { reason } => write!(f, "the server cannot be reached: {reason}"),
            Self::ConnectionLost { reason } => write!(f, "the connection broke: {reason}"),
            Self::ProcessExited { status, stderr } if stderr.is_empty() => {
                write!(f, "the server's process ended ({status})")
            }
            Self::ProcessExited { status, stderr } => {
                write!(
                    f,
                    "the server's process ended ({status}); it said: {stderr}"
                )
            }
            Self::HttpStatus { status, body } if body.is_empty() => {
                write!(f, "the server answered with HTTP {status} and no message")
            }
            Self::HttpStatus { status, body } => {
                write!(f, "the server answered with HTTP {status}: {body}")
            }
            Self::Unauthorized {
                status,
                failure: Some(failure),
                ..
            } => write!(f, "{failure} (HTTP {status})"),
            Self::Unauthorized { status: 401, .. } => {
                f.write_str("the server asks for authorization (HTTP 401)")
            }
            Self::Unauthorized { status, body, .. } => {
                write!(f, "the server does not allow this (HTTP {status})")?;
                match body.is_empty() {
                    true => Ok(()),
                    false => write!(f, ": {body}"),
                }
            }
            Self::SessionNotFound => f.write_str("the server no longer knows the session"),
            Self::MessageTooLarge { limit } => {
                write!(
                    f,
                    "the server sent a message of more than {limit} bytes (Command::max_message_bytes, \
                     HttpClientOptions::max_message_bytes)"
                )
            }
            Self::ProtocolViolation { reason } => {
                write!(f, "the server broke the protocol: {reason}")
            }
            Self::Closed => f.write_str("the connection was closed"),
        }
    }
}

impl std::error::Error for LinkError {}
