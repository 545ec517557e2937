//! Schemas of arguments and results: made from types, checked when registered, and enforced.
//! Which schemas are supported, and how values are validated, is turnbuckle-schema's part.
//!
//! Specification: basic/index, JSON Schema Usage; server/tools, Data Types (2026-07-28).

mod arguments;
mod derive;
mod held;
mod intake;
mod order;
mod place;

pub(crate) use arguments::{ArgumentError, misfit};
pub(crate) use derive::{input_schema_of, output_schema_of};
pub(crate) use held::{Held, compile, invalid};
pub(crate) use intake::Intake;
pub(crate) use order::{fields_of, in_order};
