//! The error of a request to a server, as the client of a proxy reads it.

use serde::{Deserialize, Serialize};
use turnbuckle_server::Failure;
use turnbuckle_types::{ErrorKind, ErrorObject, ProtocolError};

use crate::error::Error;

/// The code of "resource not found" in the revisions that have one.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// The error of a request, also as one instance tells it to another.
#[derive(Serialize, Deserialize)]
pub(super) enum CallError {
    /// An error of the protocol, whose code stays.
    Response(ErrorObject),
    /// The reason why there is no response.
    NoResponse(String),
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        match error.request_error() {
            Some(turnbuckle_client::Error::ErrorResponse(response)) => {
                Self::Response(ErrorObject::clone(response))
            }
            _ => Self::NoResponse(error.to_string()),
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Response(response) => response_error(response).into(),
            CallError::NoResponse(reason) => Self::new(reason),
        }
    }
}

impl From<CallError> for ProtocolError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Response(response) => response_error(response),
            CallError::NoResponse(reason) => Self::internal(reason),
        }
    }
}

fn response_error(response: ErrorObject) -> ProtocolError {
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
