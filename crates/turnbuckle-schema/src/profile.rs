//! Profiles: forms of a schema that different clients accept.

mod description;
mod enums;
mod flatten;
mod intersect;
mod null;
mod portable;
mod strict;

use serde_json::Value;
use turnbuckle_types::Schema;

use self::portable::{Portable, SchemaUse};
use crate::SchemaLimits;
use crate::check::check_schema;
use crate::error::SchemaError;

/// The form of tool schemas that clients are shown. Values are always validated against the schema
/// as written.
///
/// [`lint`](fn@crate::lint) lists the known objections to the resulting schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// The schema as written.
    Spec,
    /// A schema with the same meaning, apart from the exceptions below, in keywords that all
    /// clients understand.
    ///
    /// - References are replaced by their targets. A recursive reference is cut where it recurs:
    ///   any object or array is accepted there, and the description names the target.
    /// - `null` is not shown: an optional member may be left out. Where `null` has a meaning of its
    ///   own, the description says so. Other unions of types become `anyOf`.
    /// - Alternatives that are constants become an `enum` whose description has their descriptions,
    ///   and `const` becomes an `enum` of one value. `oneOf` becomes `anyOf` where no value matches
    ///   two branches, and `allOf` is merged where the meaning stays the same.
    /// - Every object has `properties` and every array has `items`.
    /// - Alternatives at the root, for which services refuse whole requests, become one object with
    ///   the members of all alternatives, if these are plain objects. This accepts more, and the
    ///   description says which members belong together.
    /// - Formats that some clients refuse move to the description.
    /// - `$schema` is left out: the result is in the default dialect.
    #[default]
    Portable,
    /// The subset of OpenAI's strict mode, derived from [`Portable`](Self::Portable): every object
    /// is closed and requires all its members, optional members allow `null`, and unsupported
    /// keywords move to the description.
    ///
    /// Constructs that the mode lacks, such as maps and recursive references, become strings that
    /// hold JSON. Lenient reading by [`FastValidator::repair`](crate::FastValidator::repair) turns
    /// these back. Keywords that begin with `x-` are kept for clients.
    OpenAiStrict,
}

impl Profile {
    /// Returns the schema in this form. A schema that already has the form is returned unchanged.
    ///
    /// # Errors
    /// If the schema is of another dialect, exceeds a limit (also after references are replaced),
    /// or refers to another document. `Spec` never fails.
    pub fn apply(self, schema: &Schema) -> Result<Schema, SchemaError> {
        if self == Self::Spec {
            return Ok(schema.clone());
        }
        let written: Value =
            serde_json::from_str(schema.as_str()).map_err(|_| SchemaError::TooDeep)?;
        let checked = check_schema(schema, SchemaLimits::default())?;
        let use_of = match self {
            Self::OpenAiStrict => SchemaUse::StrictArguments,
            _ => SchemaUse::Arguments,
        };
        let converted = Portable::new(&checked, use_of).root()?;
        let mut converted = flatten::flatten(converted);
        if self == Self::OpenAiStrict {
            converted = strict::root(converted);
        }
        if converted == written {
            return Ok(schema.clone());
        }
        Schema::encode(&converted).map_err(|_| SchemaError::NotAnObject)
    }

    /// Returns the schema of results in this form: as [`Portable`](Self::Portable) says for both
    /// conversions, except that `null` is shown, since results may contain it, and that alternatives
    /// at the root stay. Every value that fits the schema fits the converted one.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    pub fn apply_to_results(self, schema: &Schema) -> Result<Schema, SchemaError> {
        if self == Self::Spec {
            return Ok(schema.clone());
        }
        let checked = check_schema(schema, SchemaLimits::default())?;
        let converted = Portable::new(&checked, SchemaUse::Results).root()?;
        Schema::encode(&converted).map_err(|_| SchemaError::NotAnObject)
    }
}

#[cfg(test)]
mod tests;
