//! A request as its handler sees it: the context, the parameters that handlers take from it, and
//! questions to the client.

pub(crate) mod completion;
pub(crate) mod context;
pub(crate) mod extract;
pub(crate) mod input;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod redaction;
