//! What can be wrong with a schema.

use std::fmt;

/// Why a schema is not one that values can be held against.
///
/// What it repeats of the schema is shortened and without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaFault {
    /// It is not a JSON object.
    NotAnObject,
    /// Its values must be objects, but its `type` is not `"object"`.
    RootNotObject,
    /// Its `$schema` is this; only 2020-12 and draft-07 are supported.
    UnsupportedDialect(String),
    /// This `$ref` or `$dynamicRef` leads out of the document. Nothing is ever fetched.
    NonLocalReference(String),
    /// This reference leads nowhere.
    DanglingReference(String),
    /// This reference leads back to itself on the same value: it would never be decided.
    EndlessReference(String),
    /// A subschema has an `$id`: references into embedded documents are not supported.
    EmbeddedDocument(String),
    /// Its subschemas are nested deeper than [`SchemaLimits::depth`](crate::SchemaLimits::depth).
    TooDeep,
    /// It has more than [`SchemaLimits::subschemas`](crate::SchemaLimits::subschemas), or more than
    /// [`SchemaLimits::expanded`](crate::SchemaLimits::expanded) with its references replaced.
    TooLarge,
    /// It has more patterns than [`SchemaLimits::patterns`](crate::SchemaLimits::patterns).
    TooManyPatterns,
    /// A pattern that cannot be compiled: it is not valid, too large, or of a kind that takes more
    /// than linear time.
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
    /// It is not valid by its dialect: at this JSON Pointer, for this reason.
    Invalid {
        /// Where, as a JSON Pointer into the schema.
        path: String,
        /// What is wrong there.
        message: String,
    },
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => f.write_str("the schema is not a JSON object"),
            Self::RootNotObject => {
                f.write_str("a schema of objects must say `\"type\": \"object\"` at its root")
            }
            Self::UnsupportedDialect(uri) => write!(
                f,
                "the dialect {uri} is not supported; 2020-12 and draft-07 are"
            ),
            Self::NonLocalReference(reference) => {
                write!(
                    f,
                    "the reference {reference} leads out of the schema and is not followed"
                )
            }
            Self::DanglingReference(reference) => {
                write!(f, "the reference {reference} leads nowhere")
            }
            Self::EndlessReference(reference) => {
                write!(
                    f,
                    "the reference {reference} leads back to itself on the same value"
                )
            }
            Self::EmbeddedDocument(id) => {
                write!(
                    f,
                    "the subschema with the `$id` {id} is a document of its own, which is not supported"
                )
            }
            Self::TooDeep => f.write_str("the subschemas are nested too deep (SchemaLimits::depth)"),
            Self::TooLarge => f.write_str(
                "the schema has too many subschemas (SchemaLimits::subschemas), or too many with its \
                 references replaced (SchemaLimits::expanded)",
            ),
            Self::TooManyPatterns => {
                f.write_str("the schema has too many patterns (SchemaLimits::patterns)")
            }
            Self::Pattern { pattern, message } => {
                write!(f, "the pattern {pattern} is not supported: {message}")?;
                match message.contains("size limit") {
                    true => f.write_str(" (SchemaLimits::pattern_bytes)"),
                    false => Ok(()),
                }
            }
            Self::Invalid { path, message } => {
                write!(f, "the schema is not valid at \"{path}\": {message}")
            }
        }
    }
}

impl std::error::Error for SchemaFault {}
