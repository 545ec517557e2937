//! Knowledge from earlier results: results that may be used again, and the definitions of tools.

pub(crate) mod invalid_items;
pub(crate) mod results;
pub(crate) mod tools;
