//! Schemas of arguments and results: derived from types, checked when registered, and enforced.
//!
//! The turnbuckle-schema crate decides which schemas are supported, and validates values.
//!
//! Specification: basic/index, JSON Schema Usage; server/tools, Data Types (2026-07-28).

mod argument_reader;
mod cache;
mod derive;
mod enforced;
mod field_order;
mod json_path;
mod mismatch;

pub(crate) use argument_reader::ArgumentReader;
pub(crate) use cache::SchemaCache;
pub(crate) use derive::{input_schema_of, output_schema_of};
pub(crate) use enforced::{EnforcedSchema, SchemaFactory, check_constraints, compile, invalid};
pub(crate) use field_order::{field_names, reorder_properties};
pub(crate) use json_path::end_of_string;
pub(crate) use mismatch::describe_mismatch;
