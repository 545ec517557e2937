//! The two eras: what a revision adds to a message comes off on the way in (lift) and goes on
//! again on the way out (lay).
//!
//! A handler sees neither. Everything here is pure: bytes and borrowed JSON in, bytes out.

mod error;
pub mod headers;
mod negotiate;
mod opening;
mod param_headers;
pub mod params;
mod project;
mod reply;
mod request;
mod result;
mod structured;

/// The numbers of errors that their readers act upon.
pub mod code {
    pub use super::error::{HEADER_MISMATCH, RESOURCE_NOT_FOUND, URL_REQUIRED};
    pub use crate::rpc::code::INVALID_PARAMS;
}

pub use error::{code_of, write_error, write_refusal};
pub use negotiate::{Judgement, is_modern_error, judge, offer, select};
pub use opening::{Header, Mark, Opening, of_opening};
pub use param_headers::{InvalidParamHeader, ParamHeader, param_headers};
pub use params::{MetaFields, Params};
pub use project::{Project, Projected};
pub use reply::{Body, Encoded, Reply, Target, write_reply};
pub use request::{Added, Envelope, write_request};
pub use result::{ResultType, result_type};
pub use structured::{Plain, Structured};
