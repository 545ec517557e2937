//! Code generation: each attribute expands to the builder calls that one would write by hand.

mod arguments;
mod completer;
pub(crate) mod data;
pub(crate) mod failure;
mod field_types;
pub(crate) mod function;
mod handler;
pub(crate) mod list;
pub(crate) mod server;

use syn::{Path, parse_quote};

/// Returns the path by which generated code names the crate `turnbuckle`, unless the key `crate`
/// gives another.
pub(crate) fn default_facade() -> Path {
    parse_quote!(::turnbuckle)
}
