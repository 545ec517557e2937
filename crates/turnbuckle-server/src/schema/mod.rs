//! Schemas of arguments and results: made from types, checked when registered, and enforced.
//!
//! Two dialects of JSON Schema are supported: 2020-12, which a schema without `$schema` is written
//! in, and draft-07. `format` is an annotation in both. References stay inside the document.
//!
//! Specification: basic/index, JSON Schema Usage; server/tools, Data Types (2026-07-28).

mod arguments;
mod check;
mod derive;
mod effort;
mod enforced;
mod enforcer;
mod keywords;
mod shorten;
mod validate;
mod violation;

pub(crate) use arguments::{ArgumentError, decode_arguments};
pub(crate) use check::Place;
pub(crate) use derive::{input_schema_of, output_schema_of};
pub(crate) use enforced::needs_validator;
pub(crate) use enforcer::Enforcer;
pub(crate) use shorten::shorten;
