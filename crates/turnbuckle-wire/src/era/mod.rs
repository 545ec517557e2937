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
mod structured;

pub use error::{code_of, write_error, write_refusal};
pub use negotiate::offer;
pub use opening::{Header, Mark, Opening, of_opening};
pub use param_headers::{InvalidParamHeader, ParamHeader, param_headers};
pub use params::{MetaFields, Params};
pub use project::{Project, Projected};
pub use reply::{Body, Encoded, Reply, Target, write_reply};
pub use structured::{Plain, Structured};
