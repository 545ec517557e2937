//! Errors of schemas.

use std::fmt;

/// The reason why a schema cannot be used for validation.
///
/// Quoted parts of the schema are shortened and without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is not a JSON object.
    NotAnObject,
    /// The root lacks `"type": "object"`, which a schema of arguments needs.
    RootNotObject,
    /// The `$schema` names another dialect than 2020-12 and draft-07.
    UnsupportedDialect(String),
    /// A `$ref` or `$dynamicRef` leads out of the document. Nothing is ever fetched.
    NonLocalReference(String),
    /// A reference has no target.
    DanglingReference(String),
    /// A reference leads back to itself on the same value, so that validation would never end.
    EndlessReference(String),
    /// A subschema has an `$id`. Embedded documents are not supported.
    EmbeddedDocument(String),
    /// The subschemas are nested deeper than
    /// [`SchemaLimits::max_depth`](crate::SchemaLimits::max_depth).
    TooDeep,
    /// The schema has more than
    /// [`SchemaLimits::max_subschemas`](crate::SchemaLimits::max_subschemas), or with references
    /// replaced more than
    /// [`SchemaLimits::max_expanded_subschemas`](crate::SchemaLimits::max_expanded_subschemas).
    TooLarge,
    /// The schema has more patterns than
    /// [`SchemaLimits::max_patterns`](crate::SchemaLimits::max_patterns).
    TooManyPatterns,
    /// A pattern cannot be compiled: invalid, too large, or not linear in the text.
    Pattern {
        /// The pattern.
        pattern: String,
        /// The reason.
        message: String,
    },
    /// The schema violates its dialect.
    Invalid {
        /// The location, as a JSON Pointer into the schema.
        path: String,
        /// The reason.
        message: String,
    },
}

impl fmt::Display for SchemaError {
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
                    "the reference {reference} leads out of the schema, which is not supported"
                )
            }
            Self::DanglingReference(reference) => {
                write!(f, "the reference {reference} has no target")
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
            Self::TooDeep => f.write_str("the subschemas are nested too deep (SchemaLimits::max_depth)"),
            Self::TooLarge => f.write_str(
                "the schema has too many subschemas (SchemaLimits::max_subschemas), or too many with its \
                 references replaced (SchemaLimits::max_expanded_subschemas)",
            ),
            Self::TooManyPatterns => {
                f.write_str("the schema has too many patterns (SchemaLimits::max_patterns)")
            }
            Self::Pattern { pattern, message } => {
                write!(f, "the pattern {pattern} is not supported: {message}")?;
                match message.contains("size limit") {
                    true => f.write_str(" (SchemaLimits::max_pattern_bytes)"),
                    false => Ok(()),
                }
            }
            Self::Invalid { path, message } => {
                write!(f, "the schema is not valid at \"{path}\": {message}")
            }
        }
    }
}

impl std::error::Error for SchemaError {}
