//! Schemas as different readers accept them.

mod conjoin;
mod enums;
mod flat;
mod portable;
mod strict;
mod words;

use serde_json::Value;
use turnbuckle_types::Schema;

use self::portable::Portable;
use crate::SchemaLimits;
use crate::check::check_schema;
use crate::fault::SchemaFault;

/// Which schema is shown to the models of clients. What values are held against is the schema
/// that was written, whatever is shown.
///
/// [`lint`](fn@crate::lint) tells who objects to what is left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// The schema as it was written.
    Spec,
    /// A schema that accepts the same values, nulls aside and but for what is said below, in
    /// words that all clients know.
    ///
    /// - References are replaced by what they mean. One that recurs is cut where it does: there any
    ///   object or array will do, and the description says which was meant.
    /// - `null` is not shown: an optional member may be left out. Where it is more than that, the
    ///   description says so. Other unions of types become `anyOf`.
    /// - Alternatives that are constants become an `enum` whose description has theirs, and `const`
    ///   an `enum` of one. `oneOf` becomes `anyOf` where no two of its branches fit together, and
    ///   `allOf` is merged where that means the same.
    /// - An object always has `properties`, an array always has `items`.
    /// - Alternatives at the root, for which services refuse whole requests, become one object that
    ///   takes the members of each, where they are plain objects: this accepts more, and the
    ///   description says which members go together.
    /// - Formats that some clients refuse are told in the description.
    /// - `$schema` is left out: what is shown is of the default dialect.
    #[default]
    Portable,
    /// The subset that OpenAI's strict mode takes, on the way that [`Portable`](Self::Portable)
    /// goes: every object is closed and requires all its members, those that were optional admit
    /// `null`, and keywords that the mode does not know are told in the description.
    ///
    /// What cannot be said there is asked for as text that holds JSON: an object of any members,
    /// and what lies behind a reference that recurs. Lenient reading by
    /// [`Shape::repair`](crate::Shape::repair) takes all of it back. Keywords that begin with
    /// `x-` stay: they are for clients.
    OpenAiStrict,
}

impl Profile {
    /// The schema that is shown. One that is fit already is given back as it was written.
    ///
    /// # Errors
    /// If it is of another dialect, beyond a bound (also after references are replaced), or refers
    /// to another document. `Spec` never fails.
    pub fn apply(self, schema: &Schema) -> Result<Schema, SchemaFault> {
        if self == Self::Spec {
            return Ok(schema.clone());
        }
        let written: Value =
            serde_json::from_str(schema.as_str()).map_err(|_| SchemaFault::TooDeep)?;
        let checked = check_schema(schema, SchemaLimits::default())?;
        let shown = Portable::new(&checked, self == Self::OpenAiStrict).root()?;
        let mut shown = flat::flatten(shown);
        if self == Self::OpenAiStrict {
            shown = strict::root(shown);
        }
        if shown == written {
            return Ok(schema.clone());
        }
        Schema::of(&shown).map_err(|_| SchemaFault::NotAnObject)
    }
}

#[cfg(test)]
mod tests;
