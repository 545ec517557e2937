//! A fast validator for the keywords that derived schemas use.

mod compile;
mod cursor;
mod decimal;
mod equal;
mod members;
mod messages;
mod node;
mod path;
mod repair;
mod type_coverage;
mod walk;

use serde_json::Value;
use turnbuckle_types::{Json, RawJson, Schema};

use self::compile::{CompiledSchema, compile};
use self::cursor::Cursor;
use self::path::ValuePath;
use self::walk::{StopReason, ValueWalker};
use crate::SchemaLimits;
use crate::check::{CheckedSchema, check_schema};
use crate::error::SchemaError;
use crate::violation::{Violation, Violations};

/// A compiled schema for arguments: fast, with all violations at once, in words for the model that
/// sent the value.
///
/// Supported are the keywords of derived schemas and most hand-written ones: `type`, `enum`,
/// `const`, the limits of numbers, strings, arrays and objects, `properties`, `required`,
/// `additionalProperties`, `patternProperties`, `items`, `prefixItems`, `anyOf`, `oneOf`, `allOf`
/// and local `$ref`s, also recursive ones. [`unsupported_keyword`](Self::unsupported_keyword)
/// returns a keyword that is not enforced. `format` is an annotation. Patterns are those of the
/// regex-lite crate: linear in the text, with ASCII classes, without lookaround and backreferences.
///
/// ```
/// use turnbuckle_schema::FastValidator;
/// use turnbuckle_types::Schema;
///
/// let schema: Schema = r#"{
///     "type": "object",
///     "properties": {
///         "city": { "type": "string" },
///         "days": { "type": "integer", "minimum": 1, "maximum": 9 }
///     },
///     "required": ["city"]
/// }"#.parse()?;
/// let validator = FastValidator::compile(&schema)?;
///
/// let sent = serde_json::from_str(r#"{"ctiy":"Bern","days":12}"#)?;
/// let violations = validator.validate(sent).unwrap_err();
/// assert_eq!(
///     violations.describe("arguments").to_string(),
///     "arguments.days: expected an integer from 1 to 9, got 12\n\
///      arguments.city: is missing, but required; `ctiy` came: did you mean `city`?"
/// );
///
/// let sent = serde_json::from_str(r#"{"city":"Bern","days":"3"}"#)?;
/// let repaired = validator.repair(sent).unwrap();
/// assert_eq!(repaired.as_str(), r#"{"city":"Bern","days":3}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Limits
///
/// Schemas have the limits of [`SchemaLimits`]. A validation reads the text once, goes at most 128
/// levels deep, makes at most about 4,000,000 comparisons (64 bytes of text count as one), and
/// reports at most eight violations. Parts that the schema does not mention are skipped.
#[derive(Debug)]
pub struct FastValidator {
    compiled: CompiledSchema,
    constrains: bool,
    work: u64,
}

impl FastValidator {
    /// Compiles a schema. This takes some microseconds, mostly for patterns.
    ///
    /// # Errors
    /// If the schema is of another dialect, exceeds a limit, refers to another document, has a
    /// keyword with an invalid value, or has a pattern that cannot be compiled. Keywords that are
    /// not [supported](Self::unsupported_keyword) are not checked.
    pub fn compile(schema: &Schema) -> Result<Self, SchemaError> {
        Self::compile_within(schema, &SchemaLimits::default())
    }

    /// Compiles a schema within the given limits.
    ///
    /// # Errors
    /// Those of [`compile`](Self::compile).
    pub fn compile_within(schema: &Schema, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        Self::from_checked(&check_schema(schema, *limits)?)
    }

    /// Compiles a schema for values that are always objects, such as arguments.
    ///
    /// # Errors
    /// Those of [`compile`](Self::compile), and [`SchemaError::RootNotObject`] if the root lacks
    /// `"type": "object"`.
    pub fn compile_object(schema: &Schema) -> Result<Self, SchemaError> {
        Self::compile_object_within(schema, &SchemaLimits::default())
    }

    /// Compiles a schema of objects within the given limits.
    ///
    /// # Errors
    /// Those of [`compile_object`](Self::compile_object).
    pub fn compile_object_within(
        schema: &Schema,
        limits: &SchemaLimits,
    ) -> Result<Self, SchemaError> {
        let checked = check_schema(schema, *limits)?;
        if checked.schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(SchemaError::RootNotObject);
        }
        Self::from_checked(&checked)
    }

    fn from_checked(checked: &CheckedSchema) -> Result<Self, SchemaError> {
        Ok(Self {
            compiled: compile(checked)?,
            constrains: !type_coverage::is_enforced_by_type(&checked.schema),
            work: checked.limits.fast_work(),
        })
    }

    /// Returns the first keyword that can refuse a value but is not enforced, such as `not`.
    #[must_use]
    pub fn unsupported_keyword(&self) -> Option<&str> {
        self.compiled.unsupported_keyword.as_deref()
    }

    /// Returns whether a derived schema demands more than decoding its type enforces: ranges,
    /// lengths, patterns and other attributes. If the schema does not tell, the answer is yes.
    /// Without constraints, a value that decoded needs no validation.
    ///
    /// An attribute that contradicts the type, such as `required` on an `Option`, cannot be seen in
    /// the schema.
    #[must_use]
    pub fn has_constraints(&self) -> bool {
        self.constrains
    }

    /// Validates JSON text.
    ///
    /// A member that the schema names may occur once. Other members may repeat and are checked each
    /// time.
    ///
    /// # Errors
    /// At most eight violations. If the value is [too costly](Violations::is_too_costly) to
    /// validate, the only violation says so, and the value is neither valid nor invalid.
    pub fn validate(&self, json: RawJson<'_>) -> Result<(), Violations> {
        let json = json.as_str();
        let CompiledSchema { nodes, root, .. } = &self.compiled;
        let mut holder = ValueWalker::new(nodes, self.work);
        match holder.validate(*root, Cursor::new(json), &ValuePath::ROOT) {
            Ok(_) => Ok(()),
            Err(StopReason::TooCostly) => Err(Violations::too_costly()),
            Err(StopReason::Mismatch | StopReason::Malformed) => Err(self.explain(json)),
        }
    }

    #[cold]
    fn explain(&self, json: &str) -> Violations {
        let found = ValueWalker::explain(&self.compiled.nodes, self.compiled.root, json);
        if found.is_empty() {
            let message = "does not fit the schema, and is too large to say where";
            return Violation::new("", message).into();
        }
        found.into_iter().collect()
    }

    /// Returns the value that was probably meant, or `None` if there is nothing to repair. The
    /// value is read leniently only where it violates the schema. The result may still be invalid.
    ///
    /// - A string that is exactly a number becomes a number where a number is expected, and
    ///   `"true"` and `"false"` become booleans.
    /// - A string that holds JSON is replaced by that JSON where an array or object is expected.
    /// - A whole number with a fraction or exponent, such as `3.0`, becomes an integer where only
    ///   integers are expected: it is valid, but integer types do not decode it.
    /// - A `null` is removed from an optional member that does not allow it, and from an unknown
    ///   member of a closed object.
    ///
    /// A string stays as it is where the schema allows one. If none of several alternatives matches, the
    /// value is repaired only if exactly one of them matches then. A valid value keeps its text,
    /// except for such integers.
    #[must_use]
    pub fn repair(&self, json: RawJson<'_>) -> Option<Json> {
        let text = repair::repair(
            &self.compiled.nodes,
            self.compiled.root,
            json.as_str(),
            self.work,
        )?;
        text.parse().ok()
    }
}

#[cfg(test)]
pub(crate) mod tests;
