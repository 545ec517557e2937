//! Parsing and checks of attributes, parameters and fields.

pub(crate) mod docs;
pub(crate) mod item;
pub(crate) mod keys;
pub(crate) mod names;
pub(crate) mod parameters;
pub(crate) mod schema;
pub(crate) mod template;
