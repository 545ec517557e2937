//! What is written in their place: the builder calls that a person would write.

mod arguments;
pub(crate) mod data;
pub(crate) mod function;
mod handler;
pub(crate) mod server;
mod shortcut;

use syn::{Path, parse_quote};

/// Where the facade is, if nothing else is said.
pub(crate) fn facade() -> Path {
    parse_quote!(::turnbuckle)
}
