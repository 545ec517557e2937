//! JSON-RPC 2.0: ids, requests, notifications, responses and batches, without methods and revisions.
//!
//! The caller chooses which parameters are captured while a message is read: [`decode`] is generic
//! over them.
//!
//! Specification: basic/index, "Messages" (2026-07-28).

mod decode;
mod encode;
mod fast;
mod message;

#[cfg(test)]
pub(crate) use decode::decode_strict;
pub(crate) use decode::is_batch;
pub use decode::{DecodeError, DecodeErrorKind, decode, split_batch};
pub(crate) use encode::write_request_head;
pub use encode::{
    encode_notification, encode_request, write_error_response, write_error_response_without_id,
    write_result_head,
};
pub use fast::Capture;
pub use message::{Message, Notification, Request, Response};
pub use turnbuckle_types::RequestId;

/// The codes of the errors that JSON-RPC defines.
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The receiver does not have the method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The receiver failed.
    pub const INTERNAL_ERROR: i64 = -32603;
}
