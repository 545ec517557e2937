//! A small checker of our own, for what derived schemas hold.

mod carried;
mod compile;
mod cursor;
mod decimal;
mod equal;
mod hold;
mod members;
mod node;
mod place;
mod repair;
mod told;

use serde_json::Value;
use turnbuckle_types::{Json, RawJson, Schema};

use self::compile::{Compiled, compile};
use self::cursor::Cursor;
use self::hold::{Holder, Stop};
use self::place::Place;
use crate::SchemaLimits;
use crate::check::{Checked, check_schema};
use crate::fault::SchemaFault;
use crate::violation::{Violation, Violations};

/// A schema as it is held against arguments: compiled once, cheap to check, and with all faults at
/// once, in words for the model that sent the value.
///
/// It enforces what schemas of types consist of, and most of what people write by hand: `type`,
/// `enum`, `const`, the bounds of numbers, text, arrays and objects, `properties`, `required`,
/// `additionalProperties`, `patternProperties`, `items`, `prefixItems`, `anyOf`, `oneOf`, `allOf`
/// and local `$ref`s, however they recur. [`uncovered`](Self::uncovered) tells whether a schema says
/// more. `format` is an annotation. A pattern is of the regex-lite crate: linear in the text, with
/// classes of ASCII, without lookaround and backreferences.
///
/// ```
/// use turnbuckle_schema::Shape;
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
/// let shape = Shape::compile(&schema)?;
///
/// let violations = shape.check(serde_json::from_str(r#"{"ctiy":"Bern","days":12}"#)?).unwrap_err();
/// assert_eq!(
///     violations.describe("arguments").to_string(),
///     "arguments.days: expected an integer from 1 to 9, got 12\n\
///      arguments.city: is missing, but required; `ctiy` came: did you mean `city`?"
/// );
///
/// let sent = serde_json::from_str(r#"{"city":"Bern","days":"3"}"#)?;
/// let repaired = shape.repair(sent).unwrap();
/// assert_eq!(repaired.as_str(), r#"{"city":"Bern","days":3}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Bounds
///
/// A schema is bounded as it is for the general validator. A check reads the text once, goes at
/// most 128 levels deep, makes about 4,000,000 comparisons at most, where reading 64 bytes counts as
/// one, and tells eight faults at most. What it passes over because the schema says nothing about it
/// is not looked at.
#[derive(Debug)]
pub struct Shape {
    compiled: Compiled,
    constrains: bool,
    work: u64,
}

impl Shape {
    /// Compiles a schema. It takes some microseconds; patterns take most.
    ///
    /// # Errors
    /// If it is of another dialect, beyond a bound, refers to another document, has a keyword with
    /// a value that the keyword cannot have, or has a pattern that cannot be compiled. Keywords that
    /// this does not [cover](Self::uncovered) are not looked into.
    pub fn compile(schema: &Schema) -> Result<Self, SchemaFault> {
        Self::compile_within(schema, &SchemaLimits::default())
    }

    /// The same within other bounds.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_within(schema: &Schema, limits: &SchemaLimits) -> Result<Self, SchemaFault> {
        Self::of(&check_schema(schema, *limits)?)
    }

    /// Compiles a schema for values that are always objects, as arguments are.
    ///
    /// # Errors
    /// As [`compile`](Self::compile), and if the root of the schema does not say
    /// `"type": "object"`.
    pub fn compile_object(schema: &Schema) -> Result<Self, SchemaFault> {
        Self::compile_object_within(schema, &SchemaLimits::default())
    }

    /// The same within other bounds.
    ///
    /// # Errors
    /// As [`compile_object`](Self::compile_object).
    pub fn compile_object_within(
        schema: &Schema,
        limits: &SchemaLimits,
    ) -> Result<Self, SchemaFault> {
        let checked = check_schema(schema, *limits)?;
        if checked.schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(SchemaFault::RootNotObject);
        }
        Self::of(&checked)
    }

    fn of(checked: &Checked) -> Result<Self, SchemaFault> {
        Ok(Self {
            compiled: compile(checked)?,
            constrains: !carried::by_a_type(&checked.schema),
            work: checked.limits.shape_work(),
        })
    }

    /// The first keyword that can refuse a value and that a check does not enforce, such as `not`.
    #[must_use]
    pub fn uncovered(&self) -> Option<&str> {
        self.compiled.uncovered.as_deref()
    }

    /// Whether the schema, derived from a type, says more than decoding that type enforces: ranges,
    /// lengths, patterns and the like, which attributes add. Where the schema does not tell which it
    /// was, it does. If not, what decoded needs no check.
    ///
    /// What an attribute claims against the type (`required` on an `Option`, say) cannot be seen
    /// in the schema.
    #[must_use]
    pub fn constrains(&self) -> bool {
        self.constrains
    }

    /// Whether the text of a value fits.
    ///
    /// A member that the schema names may come once; another one that comes more than once is
    /// checked each time.
    ///
    /// # Errors
    /// The faults, eight at most; or one that says that the value is
    /// [too costly](Violations::is_too_costly) to check, which is then neither found to fit nor not.
    pub fn check(&self, json: RawJson<'_>) -> Result<(), Violations> {
        let json = json.as_str();
        let Compiled { nodes, root, .. } = &self.compiled;
        let mut holder = Holder::deciding(nodes, self.work);
        match holder.hold(*root, Cursor::new(json), &Place::ROOT) {
            Ok(_) => Ok(()),
            Err(Stop::Costly) => Err(Violations::too_costly()),
            Err(Stop::Unfit) => Err(self.told(json)),
        }
    }

    #[cold]
    fn told(&self, json: &str) -> Violations {
        let found = Holder::tell(&self.compiled.nodes, self.compiled.root, json);
        if found.is_empty() {
            let message = "does not fit the schema, and is too large to say where";
            return Violation::new("", message).into();
        }
        found.into_iter().collect()
    }

    /// The value that was meant, read leniently where the schema demands something else than what
    /// came, and only there; or nothing, if there is nothing to mend. What is left may still not
    /// fit.
    ///
    /// - A string that is exactly a number becomes one where a number is due, and `"true"` and
    ///   `"false"` become booleans.
    /// - A string that holds JSON is replaced by it where an array or object is due.
    /// - A whole number that is written otherwise, as `3.0`, becomes an integer where only integers are
    ///   due: types of integers do not take it, although it fits.
    /// - A `null` for a member that is optional and does not admit it is left out; and one for a
    ///   member that a closed object does not know.
    ///
    /// Where a string is admitted nothing is read into it. Where there are alternatives, none of
    /// which fits, the value is mended if that makes it fit exactly one of them. A value that fits
    /// stays the same value, and is not written anew but for its integers.
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
