//! The kind of an error becomes a status. The only place that knows both.
//!
//! Specification: basic/transports/streamable-http (2026-07-28).

use http::StatusCode;
use turnbuckle_types::ErrorKind;

/// The status of an answer in the modern era.
pub(crate) fn of_modern(failure: Option<&ErrorKind>) -> StatusCode {
    match failure {
        Some(ErrorKind::UnknownMethod) => StatusCode::NOT_FOUND,
        Some(
            ErrorKind::Malformed
            | ErrorKind::NotAMessage
            | ErrorKind::Envelope
            | ErrorKind::HeaderMismatch
            | ErrorKind::UnsupportedVersion { .. }
            | ErrorKind::MissingCapability(_),
        ) => StatusCode::BAD_REQUEST,
        Some(ErrorKind::Forbidden(_)) => StatusCode::FORBIDDEN,
        Some(ErrorKind::TooMany { .. }) => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::OK,
    }
}

/// The status of an answer in a legacy session, where an error is an answer like any other.
pub(crate) fn of_legacy(failure: Option<&ErrorKind>) -> StatusCode {
    match failure {
        Some(ErrorKind::Malformed | ErrorKind::NotAMessage) => StatusCode::BAD_REQUEST,
        Some(ErrorKind::Forbidden(_)) => StatusCode::FORBIDDEN,
        _ => StatusCode::OK,
    }
}
