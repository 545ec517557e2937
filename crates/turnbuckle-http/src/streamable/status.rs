//! The HTTP status of each kind of error.
//!
//! Specification: basic/transports/streamable-http (2026-07-28).

use http::StatusCode;
use turnbuckle_types::ErrorKind;

/// Returns the status of a response in the modern era.
pub(crate) fn modern_status(failure: Option<&ErrorKind>) -> StatusCode {
    match failure {
        Some(ErrorKind::MethodNotFound) => StatusCode::NOT_FOUND,
        Some(
            ErrorKind::ParseError
            | ErrorKind::InvalidRequest
            | ErrorKind::InvalidEnvelope
            | ErrorKind::HeaderMismatch
            | ErrorKind::UnsupportedProtocolVersion { .. }
            | ErrorKind::MissingRequiredClientCapability(_),
        ) => StatusCode::BAD_REQUEST,
        Some(ErrorKind::Forbidden(_)) => StatusCode::FORBIDDEN,
        Some(ErrorKind::RateLimited { .. }) => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::OK,
    }
}

/// Returns the status of a response in a legacy session, where most errors are sent with 200.
pub(crate) fn legacy_status(failure: Option<&ErrorKind>) -> StatusCode {
    match failure {
        Some(ErrorKind::ParseError | ErrorKind::InvalidRequest) => StatusCode::BAD_REQUEST,
        Some(ErrorKind::Forbidden(_)) => StatusCode::FORBIDDEN,
        _ => StatusCode::OK,
    }
}
