//! Errors of schemas.

/// The reason why a schema cannot be used for validation.
///
/// Quoted parts of the schema are shortened and without control characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is not a JSON object.
    #[error("the schema is not a JSON object")]
    NotAnObject,
    /// The root lacks `"type": "object"`, which a schema of arguments needs.
    #[error("a schema of objects must say `\"type\": \"object\"` at its root")]
    RootNotObject,
    /// The `$schema` names another dialect than 2020-12 and draft-07.
    #[error("the dialect {0} is not supported; 2020-12 and draft-07 are")]
    UnsupportedDialect(String),
    /// A `$ref` or `$dynamicRef` leads out of the document. Nothing is ever fetched.
    #[error("the reference {0} leads out of the schema, which is not supported")]
    NonLocalReference(String),
    /// A reference has no target.
    #[error("the reference {0} has no target")]
    DanglingReference(String),
    /// A reference leads back to itself on the same value, so that validation would never end.
    #[error("the reference {0} leads back to itself on the same value")]
    EndlessReference(String),
    /// A subschema has an `$id`. Embedded documents are not supported.
    #[error("the subschema with the `$id` {0} is a document of its own, which is not supported")]
    EmbeddedDocument(String),
    /// The subschemas are nested deeper than
    /// [`SchemaLimits::max_depth`](crate::SchemaLimits::max_depth).
    #[error("the subschemas are nested too deep (SchemaLimits::max_depth)")]
    TooDeep,
    /// The schema has more than
    /// [`SchemaLimits::max_subschemas`](crate::SchemaLimits::max_subschemas), or with references
    /// replaced more than
    /// [`SchemaLimits::max_expanded_subschemas`](crate::SchemaLimits::max_expanded_subschemas).
    #[error(
        "the schema has too many subschemas (SchemaLimits::max_subschemas), or too many with its \
         references replaced (SchemaLimits::max_expanded_subschemas)"
    )]
    TooLarge,
    /// The schema has more patterns than
    /// [`SchemaLimits::max_patterns`](crate::SchemaLimits::max_patterns).
    #[error("the schema has too many patterns (SchemaLimits::max_patterns)")]
    TooManyPatterns,
    /// A pattern cannot be compiled: invalid, too large, or not linear in the text.
    #[error(
        "the pattern {pattern} is not supported: {message}{}",
        size_setting(message)
    )]
    Pattern {
        /// The regular expression as the schema has it.
        pattern: String,
        /// The reason.
        message: String,
    },
    /// A constraint is about another type than the schema allows, so that it never refuses a value.
    #[error(
        "`{keyword}` at \"{path}\" never refuses a value, since the type there is {types}: {}leave it out",
        instead.map(|name| format!("use `{name}`, or ")).unwrap_or_default()
    )]
    KeywordOfOtherType {
        /// The name of the constraint.
        keyword: &'static str,
        /// The location of the schema, as keywords and names of members.
        path: String,
        /// The types that the schema allows.
        types: String,
        /// The keyword for these types.
        instead: Option<&'static str>,
    },
    /// The schema violates its dialect.
    #[error("the schema is not valid at \"{path}\": {message}")]
    Invalid {
        /// The location, as a JSON Pointer into the schema.
        path: String,
        /// The reason.
        message: String,
    },
}

/// Returns the setting that a pattern needs, if the engine names its size limit.
fn size_setting(message: &str) -> &'static str {
    if message.contains("size limit") {
        " (SchemaLimits::max_pattern_bytes)"
    } else {
        ""
    }
}
