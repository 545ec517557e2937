//! Code generation: each attribute expands to the builder calls that one would write by hand.

mod arguments;
mod callable;
pub(crate) mod data;
pub(crate) mod function;
mod handler;
pub(crate) mod server;

use syn::{Path, parse_quote};

/// Returns the default path of the facade.
pub(crate) fn default_facade() -> Path {
    parse_quote!(::turnbuckle)
}
