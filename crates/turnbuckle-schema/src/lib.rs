//! JSON Schema with bounds, for the Model Context Protocol: what both ends hold arguments and
//! structured results against.
//!
//! - [`Shape`] checks what derived schemas hold, and most of what people write: fast, with all faults
//!   at once, in words for the model that sent a value. It also reads values leniently, by schema.
//! - `Validator`, of the feature `validate`, knows every keyword, by the jsonschema crate.
//! - [`Profile`] makes of a schema one that the clients there are accept, and [`lint()`] tells who
//!   objects to what.
//!
//! ```
//! use turnbuckle_schema::{Profile, Shape};
//! use turnbuckle_types::Schema;
//!
//! let schema: Schema =
//!     r#"{"type":"object","properties":{"celsius":{"type":["number","null"]}}}"#.parse()?;
//! let shown = Profile::Portable.apply(&schema)?;
//! assert_eq!(
//!     shown.as_str(),
//!     r#"{"properties":{"celsius":{"type":"number"}},"type":"object"}"#
//! );
//!
//! let shape = Shape::compile(&schema)?;
//! let violations = shape.check(serde_json::from_str(r#"{"celsius":"cold"}"#)?).unwrap_err();
//! assert_eq!(
//!     violations.describe("output").to_string(),
//!     r#"output.celsius: expected a number or null, got "cold""#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two dialects are supported: 2020-12, in which a schema without `$schema` is read, and draft-07.
//! `format` is an annotation in both.
//!
//! # Bounds
//!
//! Neither the schema nor the value is trusted. The bounds of schemas and of work are
//! [`SchemaLimits`]; these are the defaults.
//!
//! - **Nothing is fetched.** A reference stays inside its document, or the schema is refused.
//! - **A schema is small**: at most 64 levels deep and 2,000 subschemas wide, references replaced
//!   at most 20,000.
//! - **Patterns are linear** in the text: lookaround and backreferences are refused. A schema has
//!   at most 100; compiled, one takes at most 1 MiB and all together 16 MiB.
//! - **Validation ends.** The work of a value is counted, one for about every comparison: a value
//!   that would make more than 10,000,000, or a chain of more than 512 subschemas, is
//!   [too costly](Violations::is_too_costly) to check and is refused. A `Shape` has less: 4,000,000,
//!   and 256.
//! - **A schema does not grow** with the values that it saw, but for the caches of its patterns,
//!   which are bounded as the patterns are, for each thread that validates at the same time.
//! - **Explaining ends.** All violations of a value are collected only where that is little work;
//!   else the first alone is told, or only that there is one.
//! - **Messages are short**: at most eight violations, what came is repeated only in part and
//!   without control characters.
//!
//! Specification: basic/index, JSON Schema Usage; server/tools, Data Types (2026-07-28).

mod check;
#[cfg(feature = "validate")]
mod effort;
mod fault;
mod keywords;
mod limits;
mod lint;
mod nearest;
mod pattern;
#[cfg(feature = "validate")]
mod plan;
mod profile;
mod shape;
mod shorten;
#[cfg(feature = "validate")]
mod validate;
mod violation;

pub use fault::SchemaFault;
pub use limits::SchemaLimits;
pub use lint::{Objection, lint};
pub use profile::Profile;
pub use shape::Shape;
pub use shorten::{shorten, shorten_to};
#[cfg(feature = "validate")]
pub use validate::Validator;
pub use violation::{Violation, Violations};
