//! The two eras: the envelope of a message is read on the way in and written on the way out.
//!
//! A handler sees no envelope. The functions here are pure: bytes and borrowed JSON in, bytes out.

mod body;
mod error;
pub mod headers;
mod message_era;
mod negotiate;
mod param_headers;
pub mod params;
pub(crate) mod project;
mod reply;
mod request;
mod result;
mod structured;
mod tool_result;

/// The codes of errors that a receiver acts upon.
pub mod code {
    pub use super::error::{HEADER_MISMATCH, RESOURCE_NOT_FOUND, URL_REQUIRED};
    pub use crate::rpc::code::{INVALID_PARAMS, METHOD_NOT_FOUND};
}

pub use body::{ResultBody, WriteTarget};
pub use error::{
    code_of, decode_error_code, is_protocol_code, kind_of_code, write_decode_error, write_error,
};
pub use message_era::{MessageEra, NamedRevision, VersionHeader, message_era};
pub use negotiate::{
    ProbeOutcome, is_modern_error, negotiate_revision, newest_common_revision, probe_outcome,
};
pub use param_headers::{InvalidParamHeader, ParamHeader, param_headers};
pub use params::{MetaFields, Params};
pub use project::Project;
pub use project::ProjectedResult;
pub use reply::Reply;
pub use reply::{EncodedResult, write_reply};
pub use request::{RequestAdditions, RequestEnvelope, WriteParams, write_request};
pub use result::{RESULT_TYPE, ResultType, is_complete, result_type};
pub use structured::{StructuredToolResult, TextToolResult};
