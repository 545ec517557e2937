//! A schema that values are held against.

use std::sync::OnceLock;

use turnbuckle_schema::{SchemaFault, Validator};
use turnbuckle_types::{Error, Schema};

/// What a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Arguments, which are always an object.
    Input,
    /// A result, which may be anything.
    Output,
}

/// A schema with its validator. One that is written by hand is checked and compiled at once; one
/// that a type made is taken to be valid, and compiled when it is first needed: a server starts
/// without waiting for it.
#[derive(Debug)]
pub(crate) struct Enforcer {
    schema: Schema,
    place: Place,
    compiled: OnceLock<Result<Validator, SchemaFault>>,
}

impl Enforcer {
    /// A schema that is written by hand.
    ///
    /// # Errors
    /// If it cannot be registered.
    pub(crate) fn written(schema: &Schema, place: Place) -> Result<Self, SchemaFault> {
        let enforcer = Self::derived(schema, place);
        match enforcer.compiled() {
            Ok(_) => Ok(enforcer),
            Err(error) => Err(error.clone()),
        }
    }

    /// A schema that a type made.
    pub(crate) fn derived(schema: &Schema, place: Place) -> Self {
        Self {
            schema: schema.clone(),
            place,
            compiled: OnceLock::new(),
        }
    }

    fn compiled(&self) -> Result<&Validator, &SchemaFault> {
        self.compiled
            .get_or_init(|| match self.place {
                Place::Input => Validator::compile_object(&self.schema),
                Place::Output => Validator::compile(&self.schema),
            })
            .as_ref()
    }

    /// The validator.
    ///
    /// # Errors
    /// If a type made a schema that is not valid.
    pub(crate) fn validator(&self) -> Result<&Validator, Error> {
        self.compiled()
            .map_err(|error| Error::internal(format!("a schema of the tool is not valid: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> Schema {
        Schema::from_raw(serde_json::value::RawValue::from_string(text.to_owned()).unwrap())
            .unwrap()
    }

    #[test]
    fn what_is_written_is_checked_at_once_and_what_a_type_made_later() {
        let bad = schema(r#"{"type":"object","properties":{"a":{"type":5}}}"#);
        assert!(Enforcer::written(&bad, Place::Input).is_err());
        let later = Enforcer::derived(&bad, Place::Input);
        assert!(later.compiled.get().is_none());
        assert!(later.validator().is_err());

        let good = schema(r#"{"type":"object","properties":{"a":{"minimum":3}}}"#);
        let written = Enforcer::written(&good, Place::Input).unwrap();
        assert!(written.compiled.get().is_some());
        let value = serde_json::json!({"a": 2});
        assert!(written.validator().unwrap().validate_value(&value).is_err());
    }
}
