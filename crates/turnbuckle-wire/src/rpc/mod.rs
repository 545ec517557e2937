//! JSON-RPC 2.0 and nothing more: ids, requests, notifications, responses, batches.
//!
//! Knows no method and no revision. What is captured of a message's `params` while its envelope is
//! read is the caller's choice (`decode` is generic over it).
//!
//! Specification: basic/index, "Messages" (2026-07-28).

mod decode;
mod encode;
mod message;
mod plain;

pub use decode::{Refusal, RefusalKind, decode, elements, is_batch};
pub(crate) use encode::request_head;
pub use encode::{error, error_without_id, notification, request, result_head};
pub use message::{Message, Notification, Request, Response};
pub use plain::Capture;
pub use turnbuckle_types::RequestId;

/// The numbers of JSON-RPC's own errors.
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// Nobody here has that method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The method's parameters do not fit.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something failed that is not the sender's fault.
    pub const INTERNAL_ERROR: i64 = -32603;
}
