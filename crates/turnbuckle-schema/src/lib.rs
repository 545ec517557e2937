//! JSON Schema with bounds, for the Model Context Protocol: what both ends hold arguments and
//! structured results against.
//!
//! ```
//! use turnbuckle_schema::Validator;
//! use turnbuckle_types::Schema;
//!
//! let schema: Schema = r#"{"type":"object","required":["celsius"]}"#.parse()?;
//! let validator = Validator::compile(&schema)?;
//!
//! let violations = validator.validate(serde_json::from_str("{}")?).unwrap_err();
//! assert_eq!(
//!     violations.describe("output").to_string(),
//!     "output.celsius: is missing, but required"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two dialects are supported: 2020-12, in which a schema without `$schema` is read, and draft-07.
//! `format` is an annotation in both.
//!
//! # Bounds
//!
//! Neither the schema nor the value is trusted.
//!
//! - **Nothing is fetched.** A reference stays inside its document, or the schema is refused.
//! - **A schema is small**: at most 64 levels deep and 2,000 subschemas wide, references replaced
//!   at most 20,000.
//! - **Patterns are linear** in the text: lookaround and backreferences are refused. A schema has
//!   at most 100; compiled, one takes at most 1 MiB and all together 16 MiB.
//! - **Validation ends.** The work of a value is counted before it begins, one for about every
//!   comparison: a value that would make more than 10,000,000, or a chain of more than 512
//!   subschemas, is [too costly](Violations::is_too_costly) to check and is refused.
//! - **A schema does not grow** with the values that it saw, but for the caches of its patterns,
//!   which are bounded as the patterns are, for each thread that validates at the same time.
//! - **Explaining ends.** All violations of a value are collected only where that is little work;
//!   else the first alone is told, or only that there is one.
//! - **Messages are short**: at most eight violations, what came is repeated only in part and
//!   without control characters.
//!
//! Specification: basic/index, JSON Schema Usage; server/tools, Data Types (2026-07-28).

mod check;
mod effort;
mod fault;
mod keywords;
mod plan;
mod shorten;
mod validate;
mod violation;

pub use fault::SchemaFault;
pub use shorten::{shorten, shorten_to};
pub use validate::Validator;
pub use violation::{Violation, Violations};
