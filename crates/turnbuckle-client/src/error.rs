//! Errors of requests to the server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_session::internal::RequestError;
use turnbuckle_session::transport::{LinkError, TimeoutKind};
use turnbuckle_types::{AuthorizationFailure, CallToolResult, ContentBlock, ErrorObject, Json};
use turnbuckle_wire::era::code;
use turnbuckle_wire::revision::Revision;

/// The reason why a request has no result. Every request ends in its result or in one of these.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server responded with a JSON-RPC error.
    #[error("the server refused: {} ({})", _0.message, _0.code)]
    ErrorResponse(ErrorObject),
    /// The server could not be reached.
    #[error("{server}: {reason}")]
    Unreachable {
        /// The address of the server.
        server: String,
        /// The failure of the link.
        reason: LinkError,
    },
    /// The server requires authorization (401) or does not allow the request (403).
    #[error("{}", unauthorized_text(*status, challenge.as_deref(), failure.as_ref(), body))]
    Unauthorized {
        /// The HTTP status.
        status: u16,
        /// The `WWW-Authenticate` header of the response.
        challenge: Option<String>,
        /// The reason why the client could not obtain authorization, if it tried.
        #[source]
        failure: Option<AuthorizationFailure>,
        /// The beginning of the response's body, cut short.
        body: String,
    },
    /// Client and server have no revision in common.
    #[error(
        "no revision in common: the server speaks {}",
        join_versions(server_versions)
    )]
    Incompatible {
        /// The revisions that the server named.
        server_versions: Vec<String>,
    },
    /// The server needs a handshake, and this client was told to speak the modern era alone
    /// ([`EraPreference::Modern`](crate::EraPreference::Modern)).
    #[error(
        "no revision in common: the server needs a handshake (`initialize`), which revisions up to {} \
         have: try EraPreference::Auto",
        Revision::NEWEST_LEGACY
    )]
    NeedsHandshake,
    /// The server's revision has no such request, or the server did not declare the capability.
    #[error("{method} cannot be asked for: {reason} (revision {revision})")]
    Unsupported {
        /// The method of the request that failed.
        method: String,
        /// The missing method or capability.
        reason: &'static str,
        /// The revision that is spoken with the server.
        revision: Revision,
    },
    /// No response came in time. The request was cancelled.
    #[error("{0}")]
    TimedOut(TimeoutKind),
    /// The connection was not ready in time
    /// ([`ClientBuilder::connect_timeout`](crate::ClientBuilder::connect_timeout)).
    #[error("the connection was not ready within {timeout:?} (ClientBuilder::connect_timeout)")]
    ConnectTimedOut {
        /// The time that was allowed.
        timeout: Duration,
    },
    /// The connection was lost before the response came.
    ///
    /// Requests that are safe to repeat were sent again already, if another connection could be
    /// opened. If `sent` is true, the server may have acted on this one;
    /// [`RequestBuilder::send`](crate::RequestBuilder::send) sends it again, under a new id.
    #[error(
        "{reason}; {}",
        if *sent { "the server may have acted upon the request" } else { "the request was not acted upon" }
    )]
    ConnectionLost {
        /// True if the server may have acted on the request.
        sent: bool,
        /// The cause of the loss.
        reason: LinkError,
    },
    /// The server's result does not have the form that the specification demands, or is of an
    /// unknown type.
    #[error("the server's result of {method} is not valid: {reason}")]
    InvalidResult {
        /// The method of the request that failed.
        method: String,
        /// The fault of the result.
        reason: String,
    },
    /// The server's result has more bytes than
    /// [`RequestBuilder::max_result_bytes`](crate::RequestBuilder::max_result_bytes).
    #[error(
        "the server's result of {method} has {bytes} bytes, more than {limit} (max_result_bytes)"
    )]
    ResultTooLarge {
        /// The method of the request that failed.
        method: String,
        /// The bytes of the result.
        bytes: usize,
        /// The value of the limit that was reached.
        limit: usize,
    },
    /// The tool failed (`isError`); the content of the result says how.
    #[error("the tool failed: {}", first_text(_0).unwrap_or("it does not say how"))]
    ToolFailed(Box<CallToolResult>),
    /// The tool's structured content does not fit the tool's output schema.
    #[error("the result of the tool {tool:?} does not fit its output schema: {reason}")]
    OutputMismatch {
        /// The name of the tool that was called.
        tool: String,
        /// The place that does not fit.
        reason: String,
    },
    /// The output schema of the tool cannot be used: it is not valid, of an unknown dialect, too
    /// large, or refers to another document. Nothing is fetched, and no result is accepted
    /// unchecked.
    #[error(
        "the result of the tool {tool:?} cannot be checked against its output schema: {reason}"
    )]
    UnusableOutputSchema {
        /// The name of the tool that was called.
        tool: String,
        /// The fault of the schema.
        reason: String,
    },
    /// A list of the server repeats a cursor, or has more pages or items than
    /// [`ClientLimits`](turnbuckle_session::transport::ClientLimits) allow.
    #[error(
        "the list of {method} does not come to an end (ClientLimits::max_list_pages, max_list_items)"
    )]
    EndlessList {
        /// The method of the request that failed.
        method: String,
    },
    /// The pages of a list have more bytes together than
    /// [`ClientLimits::max_list_bytes`](turnbuckle_session::transport::ClientLimits::max_list_bytes).
    #[error("the list of {method} has more than {limit} bytes (ClientLimits::max_list_bytes)")]
    ListTooLarge {
        /// The method of the request that failed.
        method: String,
        /// The value of the limit that was reached.
        limit: usize,
    },
    /// The server sent more bytes of progress, log messages and questions about one request than
    /// [`ClientLimits::max_request_bytes`](turnbuckle_session::transport::ClientLimits::max_request_bytes). The
    /// request was cancelled.
    #[error(
        "the server sent more than {limit} bytes of progress, log messages and questions about one \
         request (ClientLimits::max_request_bytes)"
    )]
    TooManyBytes {
        /// The value of the limit that was reached.
        limit: usize,
    },
    /// The server asked for input more often than the client answers for one request
    /// ([`ClientBuilder::max_input_rounds`](crate::ClientBuilder::max_input_rounds)).
    #[error("the server asked for input more than {limit} times (ClientBuilder::max_input_rounds)")]
    TooManyInputRounds {
        /// The value of the limit that was reached.
        limit: usize,
    },
    /// A question of the server could not be answered.
    #[error("the server's question ({method}) was not answered: {reason}")]
    InputUnanswered {
        /// The method of the question.
        method: String,
        /// The reason why there is no answer.
        reason: String,
    },
    /// The task of the call was cancelled before it had a result.
    #[error("the task was cancelled{}", message.as_ref().map(|it| format!(": {it}")).unwrap_or_default())]
    TaskCancelled {
        /// The reason, if the server named one.
        message: Option<String>,
    },
    /// Too many requests wait for responses already
    /// ([`ClientLimits::max_outgoing_requests`](turnbuckle_session::transport::ClientLimits::max_outgoing_requests)).
    #[error("more than {limit} requests wait for the server (ClientLimits::max_outgoing_requests)")]
    TooManyRequests {
        /// The value of the limit that was reached.
        limit: usize,
    },
    /// The request is not valid and was not sent.
    #[error("the request cannot be sent: {0}")]
    InvalidRequest(String),
    /// The connection was lost too often
    /// ([`ClientBuilder::reconnect_policy`](crate::ClientBuilder::reconnect_policy)). Requests fail
    /// with this error until the window has passed; then the next one connects again.
    #[error(
        "given up after {attempts} connections within {window:?} (ClientBuilder::reconnect_policy); \
         the last one: {last_error}"
    )]
    ReconnectsExhausted {
        /// The number of connections that were opened.
        attempts: usize,
        /// The time in which they were opened.
        window: Duration,
        /// The failure of the last one.
        last_error: String,
    },
    /// A [layer](crate::ClientBuilder::layer) around the request failed.
    #[error("a layer of the client failed: {0}")]
    LayerFailed(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// The client was closed.
    #[error("the client was closed")]
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

/// Joins the first revisions that a server named, each cut to 48 characters.
fn join_versions(words: &[String]) -> String {
    if words.is_empty() {
        return "none that it names".to_owned();
    }
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

/// Returns the first text of a tool's result.
fn first_text(result: &CallToolResult) -> Option<&str> {
    result.content.iter().find_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    })
}

/// Describes a response with the status 401 or 403.
fn unauthorized_text(
    status: u16,
    challenge: Option<&str>,
    failure: Option<&AuthorizationFailure>,
    body: &str,
) -> String {
    let (text, detail) = match (failure, status) {
        (Some(failure), _) => return format!("{failure} (HTTP {status})"),
        (None, 401) => (
            "the server asks for authorization",
            challenge.unwrap_or_default(),
        ),
        (None, _) => ("the server does not allow this", body),
    };
    let colon = if detail.is_empty() { "" } else { ": " };
    format!("{text} (HTTP {status}){colon}{detail}")
}
