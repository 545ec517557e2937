//! Errors of a link.

use turnbuckle_types::AuthorizationFailure;

/// The words before the output of a process.
const OUTPUT_MARK: &str = "; it said: ";

/// Removes the output of a process from a text that ends with a [`LinkError::ProcessExited`].
pub fn cut_process_output(text: &mut String) {
    if let Some(begin) = text.find(OUTPUT_MARK) {
        text.truncate(begin);
    }
}

/// The reason why a link could not deliver a message, or died.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The server could not be reached: nothing was sent.
    #[error("the server cannot be reached: {reason}")]
    Unreachable {
        /// The cause.
        reason: String,
    },
    /// The connection was lost. The server may have acted upon what was sent.
    #[error("the connection broke: {reason}")]
    ConnectionLost {
        /// The cause.
        reason: String,
    },
    /// The server's process has ended.
    #[error("the server's process ended ({status}){}", detail(OUTPUT_MARK, stderr))]
    ProcessExited {
        /// The exit status, in words.
        status: String,
        /// The end of what the process wrote to its error output, cut short. Empty where that is
        /// not kept.
        stderr: String,
        /// False if the process is known to have read nothing of what was sent: it ended by itself, and
        /// would again. Known on Linux; true elsewhere, unless nothing was sent.
        may_have_read: bool,
    },
    /// The server answered with an HTTP status that is no success, and no JSON-RPC message.
    #[error(
        "the server answered with HTTP {status}{}",
        if body.is_empty() { " and no message".into() } else { detail(": ", body) }
    )]
    HttpStatus {
        /// The HTTP status of the response.
        status: u16,
        /// The beginning of the body, cut short.
        body: String,
    },
    /// The server demands authorization (401) or denies access (403).
    #[error("{}", unauthorized_text(*status, failure.as_ref(), body))]
    Unauthorized {
        /// The HTTP status of the response.
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
    #[error("the server no longer knows the session")]
    SessionNotFound,
    /// A message of the server was larger than this side accepts.
    #[error(
        "the server sent a message of more than {limit} bytes (Command::max_message_bytes, \
         HttpClientOptions::max_message_bytes)"
    )]
    MessageTooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The server broke the rules of the transport.
    #[error("the server broke the protocol: {reason}")]
    ProtocolViolation {
        /// The rule and what came instead.
        reason: String,
    },
    /// This side closed the link.
    #[error("the connection was closed")]
    Closed,
}

impl LinkError {
    /// Returns whether the server cannot have acted upon the message that failed.
    #[must_use]
    pub(crate) fn is_unsent(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Unauthorized { .. } | Self::SessionNotFound => true,
            Self::HttpStatus { status, .. } => (400..500).contains(status),
            error => error.has_read_nothing(),
        }
    }

    /// Returns whether the server's process ended without having read any message.
    pub(crate) fn has_read_nothing(&self) -> bool {
        matches!(
            self,
            Self::ProcessExited {
                may_have_read: false,
                ..
            }
        )
    }
}

/// Describes a response with the status 401 or 403.
fn unauthorized_text(status: u16, failure: Option<&AuthorizationFailure>, body: &str) -> String {
    match (failure, status) {
        (Some(failure), _) => format!("{failure} (HTTP {status})"),
        (None, 401) => "the server asks for authorization (HTTP 401)".into(),
        (None, _) => format!(
            "the server does not allow this (HTTP {status}){}",
            detail(": ", body)
        ),
    }
}

/// Returns a text with a separator before it; nothing if it is empty.
fn detail(separator: &str, text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("{separator}{text}"),
    }
}
