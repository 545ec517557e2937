//! Error codes: the number of each kind of error in the revision of its reader.
//!
//! Specification: basic/index, "Error Codes" (2026-07-28).

use std::ops::RangeInclusive;

use turnbuckle_types::{ErrorKind, Json, ProtocolError, RequestId};

use crate::revision::Features;
use crate::rpc::{self, DecodeError, DecodeErrorKind, code};

/// The code of "resource not found" in the revisions that have one.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// The code of a header that differs from the body.
pub const HEADER_MISMATCH: i64 = -32020;
pub(super) const MISSING_CAPABILITY: i64 = -32021;
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;
/// The code of an error that asks the user to visit a URL first.
pub const URL_REQUIRED: i64 = -32042;

/// The codes that JSON-RPC and the protocol reserve.
const RESERVED: RangeInclusive<i64> = -32768..=-32000;

/// Returns the code of an error of that kind for a peer with `features`.
#[must_use]
pub fn code_of(kind: &ErrorKind, features: &Features) -> i64 {
    match kind {
        ErrorKind::ParseError => code::PARSE_ERROR,
        ErrorKind::InvalidRequest | ErrorKind::Forbidden(_) => code::INVALID_REQUEST,
        ErrorKind::MethodNotFound => code::METHOD_NOT_FOUND,
        ErrorKind::HeaderMismatch if features.result_envelope => HEADER_MISMATCH,
        ErrorKind::UnsupportedProtocolVersion { .. } if features.result_envelope => {
            UNSUPPORTED_VERSION
        }
        ErrorKind::MissingRequiredClientCapability(_) if features.result_envelope => {
            MISSING_CAPABILITY
        }
        ErrorKind::ResourceNotFound if features.resource_not_found_code => RESOURCE_NOT_FOUND,
        ErrorKind::UrlElicitationRequired(_) if features.url_required_error => URL_REQUIRED,
        ErrorKind::InvalidEnvelope
        | ErrorKind::HeaderMismatch
        | ErrorKind::UnsupportedProtocolVersion { .. }
        | ErrorKind::MissingRequiredClientCapability(_)
        | ErrorKind::ResourceNotFound
        | ErrorKind::UrlElicitationRequired(_)
        | ErrorKind::InvalidParams => code::INVALID_PARAMS,
        // A code of the modern era means nothing to a reader of the legacy one.
        ErrorKind::Forwarded(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
            if !features.result_envelope =>
        {
            code::INVALID_PARAMS
        }
        ErrorKind::Forwarded(code) => *code,
        // A reserved code is not for applications.
        ErrorKind::Application(code) if !RESERVED.contains(code) => *code,
        _ => code::INTERNAL_ERROR,
    }
}

/// Returns the kind of an error that came with a code and is passed on.
#[must_use]
pub fn kind_of_code(code: i64) -> ErrorKind {
    match code {
        code::INVALID_REQUEST => ErrorKind::InvalidRequest,
        code::METHOD_NOT_FOUND => ErrorKind::MethodNotFound,
        code::INVALID_PARAMS => ErrorKind::InvalidParams,
        code::INTERNAL_ERROR => ErrorKind::Internal,
        code => ErrorKind::Forwarded(code),
    }
}

/// Returns whether JSON-RPC or a revision of the protocol defines an error code.
#[must_use]
pub fn is_protocol_code(code: i64) -> bool {
    matches!(
        code,
        code::PARSE_ERROR
            | code::INVALID_REQUEST
            | code::METHOD_NOT_FOUND
            | code::INVALID_PARAMS
            | code::INTERNAL_ERROR
            | RESOURCE_NOT_FOUND
            | HEADER_MISMATCH
            | MISSING_CAPABILITY
            | UNSUPPORTED_VERSION
            | URL_REQUIRED
    )
}

/// Appends the error response to the request `id`.
pub fn write_error(out: &mut Vec<u8>, id: &RequestId, error: &ProtocolError, features: &Features) {
    let data = error.data().map(Json::as_raw);
    rpc::write_error_response(
        out,
        id,
        code_of(error.kind(), features),
        error.message(),
        data,
    );
}

/// Returns the code of the answer to a frame that is no message.
#[must_use]
pub fn decode_error_code(kind: DecodeErrorKind) -> i64 {
    match kind {
        DecodeErrorKind::ParseError => code::PARSE_ERROR,
        DecodeErrorKind::InvalidRequest => code::INVALID_REQUEST,
        DecodeErrorKind::InvalidParams | DecodeErrorKind::InvalidNotification => {
            code::INVALID_PARAMS
        }
    }
}

/// Appends the answer to a frame that is no message. `features` are those of the peer, as far as
/// they are known.
pub fn write_decode_error(out: &mut Vec<u8>, refusal: &DecodeError, features: Option<&Features>) {
    let number = decode_error_code(refusal.kind);
    match &refusal.id {
        Some(id) => rpc::write_error_response(out, id, number, &refusal.message, None),
        None => {
            let null_id = features.is_some_and(|features| features.null_error_id);
            rpc::write_error_response_without_id(out, null_id, number, &refusal.message);
        }
    }
}
