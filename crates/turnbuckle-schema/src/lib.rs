//! JSON Schema with limits, for the Model Context Protocol. Servers and clients validate arguments
//! and structured results with it.
//!
//! - [`FastValidator`] supports the keywords of derived schemas and most hand-written ones. It is
//!   fast and reports all violations at once, in words for the model that sent the value. It can
//!   also repair values.
//! - `Validator`, with the feature `validate`, supports every keyword, by the jsonschema crate.
//! - [`Profile`] converts a schema to a form that clients accept, and [`lint()`] lists known
//!   objections of clients.
//!
//! ```
//! use turnbuckle_schema::{FastValidator, Profile};
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
//! let validator = FastValidator::compile(&schema)?;
//! let violations = validator.validate(serde_json::from_str(r#"{"celsius":"cold"}"#)?).unwrap_err();
//! assert_eq!(
//!     violations.describe("output").to_string(),
//!     r#"output.celsius: expected a number or null, got "cold""#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two dialects are supported: 2020-12, which is assumed for schemas without `$schema`, and
//! draft-07. `format` is an annotation in both.
//!
//! # Limits
//!
//! Neither the schema nor the value is trusted. The limits of schemas and of work are
//! [`SchemaLimits`]; these are the defaults.
//!
//! - **Nothing is fetched.** A schema with a reference to another document is refused.
//! - **Schemas are small**: at most 64 levels deep and 2,000 subschemas, or 20,000 with references
//!   replaced.
//! - **Patterns are linear** in the text: lookaround and backreferences are refused. A schema has
//!   at most 100 patterns; one takes at most 1 MiB compiled, all together 16 MiB.
//! - **Validation ends.** The work of a value is counted, one unit for about every comparison. A
//!   value that needs more than 10,000,000 units, or a chain of more than 512 subschemas, is [too
//!   costly](Violations::is_too_costly) and is refused. A `FastValidator` allows 4,000,000 units
//!   and 256 subschemas.
//! - **Validators do not grow** with the values they check, except for the caches of their
//!   patterns, which are bounded for each thread that validates at the same time.
//! - **Explaining ends.** All violations are collected only where that is cheap; otherwise the
//!   first one, or only the fact.
//! - **Messages are short**: at most eight violations, with shortened values and without control
//!   characters.
//!
//! Specification: basic/index, JSON Schema Usage; server/tools, Data Types (2026-07-28).
#![cfg_attr(docsrs, feature(doc_cfg))]

mod check;
#[cfg(feature = "validate")]
mod cost;
mod error;
mod fast;
mod format;
mod keyword_types;
mod keywords;
mod limits;
mod lint;
mod pattern;
#[cfg(feature = "validate")]
mod plan;
mod profile;
#[cfg(feature = "validate")]
mod validator;
mod violation;

pub use error::SchemaError;
pub use fast::FastValidator;
pub use format::format_at;
pub use keyword_types::check_keyword_types;
pub use limits::SchemaLimits;
pub use lint::{Objection, lint};
pub use profile::Profile;
#[cfg(feature = "validate")]
pub use validator::Validator;
pub use violation::{Violation, Violations};
