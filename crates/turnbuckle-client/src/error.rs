//! Errors of requests to the server.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use turnbuckle_session::internal::RequestError;
use turnbuckle_session::transport::{LinkError, TimeoutKind};
use turnbuckle_types::{AuthorizationFailure, CallToolResult, ContentBlock, ErrorObject, Json};
use turnbuckle_wire::era::code;
use turnbuckle_wire::revision::Revision;

/// The reason why a request has no result. Every request ends in its result or in one of these.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The server responded with a JSON-RPC error.
    ErrorResponse(ErrorObject),
    /// The server could not be reached.
    Unreachable {
        /// The address of the server.
        server: String,
        /// The failure of the link.
        reason: LinkError,
    },
    /// The server requires authorization (401) or does not allow the request (403).
    Unauthorized {
        /// The HTTP status.
        status: u16,
        /// The `WWW-Authenticate` header of the response.
        challenge: Option<String>,
        /// The reason why the client could not obtain authorization, if it tried.
        failure: Option<AuthorizationFailure>,
        /// The beginning of the response's body, cut short.
        body: String,
    },
    /// Client and server have no revision in common.
    Incompatible {
        /// The revisions that the server named.
        server_versions: Vec<String>,
    },
    /// The server needs a handshake, and this client was told to speak the modern era alone
    /// ([`EraPreference::Modern`](crate::EraPreference::Modern)).
    NeedsHandshake,
    /// The server's revision has no such request, or the server did not declare the capability.
    Unsupported {
        /// The method.
        method: String,
        /// The missing method or capability.
        reason: &'static str,
        /// The revision that is spoken with the server.
        revision: Revision,
    },
    /// No response came in time. The request was cancelled.
    TimedOut(TimeoutKind),
    /// The connection was not ready in time
    /// ([`ClientBuilder::connect_timeout`](crate::ClientBuilder::connect_timeout)).
    ConnectTimedOut {
        /// The time that was allowed.
        timeout: Duration,
    },
    /// The connection was lost before the response came.
    ///
    /// Requests that are safe to repeat were sent again already, if another connection could be
    /// opened. If `sent` is true, the server may have acted on this one;
    /// [`RequestBuilder::send`](crate::RequestBuilder::send) sends it again, under a new id.
    ConnectionLost {
        /// True if the server may have acted on the request.
        sent: bool,
        /// The cause of the loss.
        reason: LinkError,
    },
    /// The server's result does not have the form that the specification demands, or is of an
    /// unknown type.
    InvalidResult {
        /// The method.
        method: String,
        /// The fault of the result.
        reason: String,
    },
    /// The tool failed (`isError`); the content of the result says how.
    ToolFailed(Box<CallToolResult>),
    /// The tool's structured content does not fit the tool's output schema.
    OutputMismatch {
        /// The tool.
        tool: String,
        /// The place that does not fit.
        reason: String,
    },
    /// The output schema of the tool cannot be used: it is not valid, of an unknown dialect, too
    /// large, or refers to another document. Nothing is fetched, and no result is accepted
    /// unchecked.
    UnusableOutputSchema {
        /// The tool.
        tool: String,
        /// The fault of the schema.
        reason: String,
    },
    /// A list of the server repeats a cursor, or has more pages or items than
    /// [`ClientLimits`](turnbuckle_session::transport::ClientLimits) allow.
    EndlessList {
        /// The method.
        method: String,
    },
    /// The pages of a list have more bytes together than
    /// [`ClientLimits::max_list_bytes`](turnbuckle_session::transport::ClientLimits::max_list_bytes).
    ListTooLarge {
        /// The method.
        method: String,
        /// The limit.
        limit: usize,
    },
    /// The server sent more bytes of progress, log messages and questions about one request than
    /// [`ClientLimits::max_request_bytes`](turnbuckle_session::transport::ClientLimits::max_request_bytes). The
    /// request was cancelled.
    TooManyBytes {
        /// The limit.
        limit: usize,
    },
    /// The server asked for input more often than the client answers for one request
    /// ([`ClientBuilder::max_input_rounds`](crate::ClientBuilder::max_input_rounds)).
    TooManyInputRounds {
        /// The limit.
        limit: usize,
    },
    /// A question of the server could not be answered.
    InputUnanswered {
        /// The method of the question.
        method: String,
        /// The reason why there is no answer.
        reason: String,
    },
    /// Too many requests wait for responses already
    /// ([`ClientLimits::max_outgoing_requests`](turnbuckle_session::transport::ClientLimits::max_outgoing_requests)).
    TooManyRequests {
        /// The limit.
        limit: usize,
    },
    /// The request is not valid and was not sent.
    InvalidRequest(String),
    /// The connection was lost too often
    /// ([`ClientBuilder::reconnect_policy`](crate::ClientBuilder::reconnect_policy)). Requests fail
    /// with this error until the window has passed; then the next one connects again.
    ReconnectsExhausted {
        /// The number of connections that were opened.
        attempts: usize,
        /// The time in which they were opened.
        window: Duration,
        /// The failure of the last one.
        last_error: String,
    },
    /// The client was closed.
    Closed,
}

impl Error {
    /// Returns whether the connection was lost before the response came.
    #[must_use]
    pub fn is_connection_lost(&self) -> bool {
        matches!(self, Self::ConnectionLost { .. })
    }

    /// Returns whether no response, or no connection, came in time.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut(_) | Self::ConnectTimedOut { .. })
    }

    /// Returns the JSON-RPC error of the server, if it responded with one.
    #[must_use]
    pub fn error_response(&self) -> Option<&ErrorObject> {
        match self {
            Self::ErrorResponse(error) => Some(error),
            _ => None,
        }
    }

    /// Returns whether the server says that a resource does not exist: by the code that older
    /// revisions have for that, or by that of invalid parameters with the resource's URI.
    ///
    /// Specification: server/resources, "Error Handling" (2026-07-28).
    #[must_use]
    pub fn is_resource_not_found(&self) -> bool {
        self.error_response()
            .is_some_and(|refusal| match refusal.code {
                code::RESOURCE_NOT_FOUND => true,
                code::INVALID_PARAMS => {
                    let data = refusal
                        .data
                        .as_ref()
                        .map(Json::decode::<HashMap<String, Json>>);
                    data.is_some_and(|data| data.is_ok_and(|data| data.contains_key("uri")))
                }
                _ => false,
            })
    }

    pub(crate) fn from_request_error(error: RequestError, server: &str) -> Self {
        match error {
            RequestError::ErrorResponse(error) => Self::ErrorResponse(error),
            RequestError::TimedOut(late) => Self::TimedOut(late),
            RequestError::TooManyRequests { limit } => Self::TooManyRequests { limit },
            RequestError::TooManyBytes { limit } => Self::TooManyBytes { limit },
            RequestError::Unwritable(reason) => Self::InvalidRequest(reason),
            RequestError::Link { error, sent } => Self::from_link_error(error, sent, server),
            other => Self::InvalidRequest(format!("{other:?}")),
        }
    }

    pub(crate) fn from_link_error(error: LinkError, sent: bool, server: &str) -> Self {
        match error {
            LinkError::Unauthorized {
                status,
                challenge,
                failure,
                body,
            } => Self::Unauthorized {
                status,
                challenge,
                failure,
                body,
            },
            LinkError::Closed if !sent => Self::Closed,
            reason @ LinkError::Unreachable { .. } => Self::Unreachable {
                server: server.to_owned(),
                reason,
            },
            reason => Self::ConnectionLost { sent, reason },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ErrorResponse(error) => {
                write!(f, "the server refused: {} ({})", error.message, error.code)
            }
            Self::Unreachable { server, reason } => write!(f, "{server}: {reason}"),
            Self::Unauthorized {
                status,
                failure: Some(failure),
                ..
            } => write!(f, "{failure} (HTTP {status})"),
            Self::Unauthorized {
                status: 401,
                challenge,
                ..
            } => {
                f.write_str("the server asks for authorization (HTTP 401)")?;
                match challenge {
                    Some(challenge) => write!(f, ": {challenge}"),
                    None => Ok(()),
                }
            }
            Self::Unauthorized { status, body, .. } => {
                write!(f, "the server does not allow this (HTTP {status})")?;
                match body.is_empty() {
                    true => Ok(()),
                    false => write!(f, ": {body}"),
                }
            }
            Self::Incompatible { server_versions } => write!(
                f,
                "no revision in common: the server speaks {}",
                match server_versions.is_empty() {
                    true => "none that it names".to_owned(),
                    false => join_versions(server_versions),
                }
            ),
            Self::NeedsHandshake => write!(
                f,
                "no revision in common: the server needs a handshake (`initialize`), which revisions \
                 up to {} have: try EraPreference::Auto",
                Revision::NEWEST_LEGACY
            ),
            Self::Unsupported {
                method,
                reason,
                revision,
            } => write!(
                f,
                "{method} cannot be asked for: {reason} (revision {revision})"
            ),
            Self::TimedOut(TimeoutKind::Idle(silence)) => {
                write!(
                    f,
                    "no answer within {silence:?} of silence (Timeouts::idle_timeout)"
                )
            }
            Self::TimedOut(TimeoutKind::Total(total)) => {
                write!(f, "no answer within {total:?} (Timeouts::total_timeout)")
            }
            Self::ConnectTimedOut { timeout } => {
                write!(
                    f,
                    "the connection was not ready within {timeout:?} (ClientBuilder::connect_timeout)"
                )
            }
            Self::ConnectionLost { sent, reason } => {
                let sent = match sent {
                    true => "the server may have acted upon the request",
                    false => "the request was not acted upon",
                };
                write!(f, "{reason}; {sent}")
            }
            Self::InvalidResult { method, reason } => {
                write!(f, "the server's result of {method} is not valid: {reason}")
            }
            Self::ToolFailed(result) => {
                let text = result.content.iter().find_map(|block| match block {
                    ContentBlock::Text(text) => Some(text.text.as_str()),
                    _ => None,
                });
                write!(
                    f,
                    "the tool failed: {}",
                    text.unwrap_or("it does not say how")
                )
            }
            Self::OutputMismatch { tool, reason } => write!(
                f,
                "the result of the tool {tool:?} does not fit its output schema: {reason}"
            ),
            Self::UnusableOutputSchema { tool, reason } => write!(
                f,
                "the result of the tool {tool:?} cannot be checked against its output schema: {reason}"
            ),
            Self::EndlessList { method } => {
                write!(
                    f,
                    "the list of {method} does not come to an end (ClientLimits::max_list_pages, \
                     max_list_items)"
                )
            }
            Self::ListTooLarge { method, limit } => write!(
                f,
                "the list of {method} has more than {limit} bytes (ClientLimits::max_list_bytes)"
            ),
            Self::TooManyBytes { limit } => write!(
                f,
                "the server sent more than {limit} bytes of progress, log messages and questions \
                 about one request (ClientLimits::max_request_bytes)"
            ),
            Self::TooManyInputRounds { limit } => {
                write!(
                    f,
                    "the server asked for input more than {limit} times (ClientBuilder::max_input_rounds)"
                )
            }
            Self::InputUnanswered { method, reason } => {
                write!(
                    f,
                    "the server's question ({method}) was not answered: {reason}"
                )
            }
            Self::TooManyRequests { limit } => {
                write!(
                    f,
                    "more than {limit} requests wait for the server (ClientLimits::max_outgoing_requests)"
                )
            }
            Self::InvalidRequest(reason) => write!(f, "the request cannot be sent: {reason}"),
            Self::ReconnectsExhausted {
                attempts,
                window,
                last_error: last,
            } => write!(
                f,
                "given up after {attempts} connections within {window:?} \
                 (ClientBuilder::reconnect_policy); the last one: {last}"
            ),
            Self::Closed => f.write_str("the client was closed"),
        }
    }
}

/// Joins the first revisions that a server named, each cut to 48 characters.
fn join_versions(words: &[String]) -> String {
    let short = words
        .iter()
        .take(8)
        .map(|word| word.chars().take(48).collect());
    let mut shown = short.collect::<Vec<String>>().join(", ");
    if words.len() > 8 {
        shown.push_str(", …");
    }
    shown
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unauthorized {
                failure: Some(failure),
                ..
            } => failure.source(),
            _ => None,
        }
    }
}
