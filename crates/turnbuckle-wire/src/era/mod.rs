//! The two eras: what a revision adds to a message comes off on the way in (lift) and goes on
//! again on the way out (lay).
//!
//! A handler sees neither. Everything here is pure: bytes and borrowed JSON in, bytes out.

mod error;
#[doc(hidden)]
pub mod headers;
mod negotiate;
mod opening;
mod param_headers;
#[doc(hidden)]
pub mod params;
mod project;
mod reply;
mod request;
mod result;
mod structured;

/// The numbers of errors that their readers act upon.
#[doc(hidden)]
pub mod code {
    pub use super::error::{HEADER_MISMATCH, RESOURCE_NOT_FOUND, URL_REQUIRED};
    pub use crate::rpc::code::INVALID_PARAMS;
}

#[doc(hidden)]
pub use error::{write_error, write_refusal};
#[doc(hidden)]
pub use negotiate::{Judgement, is_modern_error, judge, offer, select};
#[doc(hidden)]
pub use opening::{Header, Mark, Opening, of_opening};
#[doc(hidden)]
pub use param_headers::{InvalidParamHeader, ParamHeader, param_headers};
#[doc(hidden)]
pub use params::{MetaFields, Params};
pub use project::Project;
#[doc(hidden)]
pub use project::Projected;
pub use reply::Reply;
#[doc(hidden)]
pub use reply::{Body, Encoded, Target, write_reply};
#[doc(hidden)]
pub use request::{Added, Envelope, write_request};
#[doc(hidden)]
pub use result::{RESULT_TYPE, ResultType, is_complete, result_type};
#[doc(hidden)]
pub use structured::{Plain, Structured};
