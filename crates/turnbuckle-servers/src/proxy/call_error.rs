//! The error of a request to a server, as the client of a proxy reads it.

use serde::{Deserialize, Serialize};
use turnbuckle_server::{Failure, HandlerContext};
use turnbuckle_session::internal::FailureCause;
use turnbuckle_session::transport::{LinkError, TimeoutKind};
use turnbuckle_types::{ErrorKind, ErrorObject, ProtocolError, UpstreamFailure};

use crate::error::Error;

/// The code of "resource not found" in the revisions that have one.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// The error of a request, also as one instance tells it to another.
#[derive(Serialize, Deserialize)]
pub(super) enum CallError {
    /// An error of the protocol, whose code stays.
    Response(ErrorObject),
    /// There is no response.
    NoResponse {
        reason: String,
        /// The cause, where records of an audit have a name for it.
        cause: Option<UpstreamFailure>,
    },
}

impl CallError {
    /// Converts the error of a request. What the process of the server has written is for users that have the
    /// process for themselves: those of standard streams.
    pub(super) fn new(error: Error, has_process_output: bool) -> Self {
        let error = match has_process_output {
            true => error,
            false => error.without_process_output(),
        };
        match error.request_error() {
            Some(turnbuckle_client::Error::ErrorResponse(response)) => {
                Self::Response(ErrorObject::clone(response))
            }
            _ => Self::NoResponse {
                reason: without_settings(&error.to_string()),
                cause: cause_of(&error),
            },
        }
    }

    /// Returns the failure of a request, whose cause is recorded.
    pub(super) fn into_failure(self, context: &HandlerContext) -> Failure {
        if let Self::NoResponse {
            cause: Some(cause), ..
        } = self
        {
            context.set_failure_cause(FailureCause::Upstream(cause));
        }
        self.into()
    }
}

/// Returns whether the sender of a request may read what the process of the server has written: over HTTP, others
/// may use the same process.
pub(super) fn may_read_process_output(context: &HandlerContext) -> bool {
    context.duplex_connection().is_some()
}

/// Conversion of a failed step of a request.
pub(super) trait OrFailure<T> {
    /// Returns the value, or the failure of the request, whose cause is recorded.
    fn or_failure(self, context: &HandlerContext) -> Result<T, Failure>;
}

impl<T> OrFailure<T> for Result<T, Error> {
    fn or_failure(self, context: &HandlerContext) -> Result<T, Failure> {
        self.map_err(|error| {
            CallError::new(error, may_read_process_output(context)).into_failure(context)
        })
    }
}

/// Returns a text without the settings of the libraries that it names: who reads it has none of them, or has them under
/// other names, in a file or options.
fn without_settings(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" (") {
        shown.push_str(before);
        rest = match after.split_once(')') {
            Some((inside, after)) if inside.split(", ").all(is_setting) => after,
            _ => {
                shown.push_str(" (");
                after
            }
        };
    }
    shown.push_str(rest);
    let words = shown.split(' ').map(|word| match is_setting(word) {
        true => word.split_once("::").map_or(word, |(_, name)| name),
        false => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns whether a word is the name of a setting with the type that it is of.
fn is_setting(word: &str) -> bool {
    let is_name = |name: &str| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    word.trim_end_matches([')', ';'])
        .split_once("::")
        .is_some_and(|(of, name)| {
            of.starts_with(|first: char| first.is_ascii_uppercase()) && is_name(of) && is_name(name)
        })
}

fn cause_of(error: &Error) -> Option<UpstreamFailure> {
    let error = match error {
        Error::NotReady { .. } => return Some(UpstreamFailure::Unavailable),
        Error::TooManyConnections { .. } => return Some(UpstreamFailure::TooManyConnections),
        error => error.request_error()?,
    };
    Some(match error {
        turnbuckle_client::Error::TimedOut(TimeoutKind::Total(_)) => UpstreamFailure::TimedOut,
        turnbuckle_client::Error::TimedOut(_) => UpstreamFailure::Silent,
        turnbuckle_client::Error::ResultTooLarge { .. }
        | turnbuckle_client::Error::ConnectionLost {
            reason: LinkError::MessageTooLarge { .. },
            ..
        } => UpstreamFailure::ResultTooLarge,
        error if error.is_connection_lost() => UpstreamFailure::Unavailable,
        turnbuckle_client::Error::Unreachable { .. }
        | turnbuckle_client::Error::ConnectTimedOut { .. } => UpstreamFailure::Unavailable,
        _ => return None,
    })
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self::new(error, false)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Response(response) => response_error(response).into(),
            CallError::NoResponse { reason, .. } => Self::new(reason),
        }
    }
}

impl From<CallError> for ProtocolError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Response(response) => response_error(response),
            CallError::NoResponse { reason, .. } => Self::internal(reason),
        }
    }
}

/// Converts an error response, whose code stays.
pub(super) fn response_error(response: ErrorObject) -> ProtocolError {
    let kind = match response.code {
        -32600 => ErrorKind::InvalidRequest,
        -32601 => ErrorKind::MethodNotFound,
        -32602 => ErrorKind::InvalidParams,
        -32603 => ErrorKind::Internal,
        RESOURCE_NOT_FOUND => ErrorKind::ResourceNotFound,
        code => ErrorKind::Forwarded(code),
    };
    let error = ProtocolError::new(kind, response.message);
    match &response.data {
        Some(data) => error.with_data(data),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::without_settings;

    #[test]
    fn settings_of_libraries_are_left_out_of_texts() {
        for (text, shown) in [
            (
                "one: no answer within 4s (Timeouts::total_timeout)",
                "one: no answer within 4s",
            ),
            (
                "more than 9 bytes (Command::max_bytes, Http::max_bytes); lost",
                "more than 9 bytes; lost",
            ),
            (
                "as many (2, and half: Options::max; in all Limits::max_all)",
                "as many (2, and half: max; in all max_all)",
            ),
            ("a (b) c (d", "a (b) c (d"),
            ("at http://[::1]:9/ std::fmt", "at http://[::1]:9/ std::fmt"),
            ("", ""),
        ] {
            assert_eq!(without_settings(text), shown);
        }
    }
}
