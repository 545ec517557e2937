//! An error's kind becomes the number that its reader's revision has for it.
//!
//! Specification: basic/index, "Error Codes" (2026-07-28).

use std::ops::RangeInclusive;

use turnbuckle_types::{Error, ErrorKind, Json, RequestId};

use crate::revision::Features;
use crate::rpc::{self, Refusal, RefusalKind, code};

/// There is no such resource, where the revision has a number of its own for that.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// A header does not say what the body says.
pub const HEADER_MISMATCH: i64 = -32020;
pub(super) const MISSING_CAPABILITY: i64 = -32021;
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;
/// The user has to visit a URL first.
pub const URL_REQUIRED: i64 = -32042;

/// What JSON-RPC and the protocol keep for themselves.
const RESERVED: RangeInclusive<i64> = -32768..=-32000;

/// The number of an error of that kind for a peer that knows `features`.
#[must_use]
fn code_of(kind: &ErrorKind, features: &Features) -> i64 {
    match kind {
        ErrorKind::Malformed => code::PARSE_ERROR,
        ErrorKind::NotAMessage | ErrorKind::Forbidden(_) => code::INVALID_REQUEST,
        ErrorKind::UnknownMethod => code::METHOD_NOT_FOUND,
        ErrorKind::HeaderMismatch if features.result_envelope => HEADER_MISMATCH,
        ErrorKind::UnsupportedVersion { .. } if features.result_envelope => UNSUPPORTED_VERSION,
        ErrorKind::MissingCapability(_) if features.result_envelope => MISSING_CAPABILITY,
        ErrorKind::ResourceNotFound if features.resource_not_found_code => RESOURCE_NOT_FOUND,
        ErrorKind::UrlElicitationRequired(_) if features.url_required_error => URL_REQUIRED,
        ErrorKind::Envelope
        | ErrorKind::HeaderMismatch
        | ErrorKind::UnsupportedVersion { .. }
        | ErrorKind::MissingCapability(_)
        | ErrorKind::ResourceNotFound
        | ErrorKind::UrlElicitationRequired(_)
        | ErrorKind::InvalidParams => code::INVALID_PARAMS,
        // Ranges that are reserved say what only those may say for whom they are.
        ErrorKind::Application(code) if !RESERVED.contains(code) => *code,
        _ => code::INTERNAL_ERROR,
    }
}

/// Appends the error response to the request `id`.
pub fn write_error(out: &mut Vec<u8>, id: &RequestId, error: &Error, features: &Features) {
    let data = error.data().map(Json::as_raw);
    rpc::error(
        out,
        id,
        code_of(error.kind(), features),
        error.message(),
        data,
    );
}

/// Appends the answer to a frame that is no message. `features` are those of the peer, as far as
/// they are known.
pub fn write_refusal(out: &mut Vec<u8>, refusal: &Refusal, features: Option<&Features>) {
    let number = match refusal.kind {
        RefusalKind::Malformed => code::PARSE_ERROR,
        RefusalKind::NotAMessage => code::INVALID_REQUEST,
        RefusalKind::Params | RefusalKind::Notification => code::INVALID_PARAMS,
    };
    match &refusal.id {
        Some(id) => rpc::error(out, id, number, &refusal.message, None),
        None => {
            let null_id = features.is_some_and(|features| features.null_error_id);
            rpc::error_without_id(out, null_id, number, &refusal.message);
        }
    }
}
