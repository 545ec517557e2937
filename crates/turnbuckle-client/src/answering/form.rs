//! Asking the user by a form.

use std::fmt;

use turnbuckle_types::{
    ElicitFormParams, ElicitResult, ElicitationSchema, Error, FieldValue, InvalidContent, Map,
    PrimitiveSchema,
};

use super::Question;
use super::handler::Handler;

/// The most fields, and the most names of required ones, that a form may have.
const MAX_FIELDS: usize = 256;

pub(super) type OnForm = Handler<Form, FormAnswer>;

/// A form that a server wants filled in.
///
/// All of it is the server's word: strip what a terminal or a page would act upon before it is
/// shown, and let users look at their answers, and change them, before they are sent.
///
/// Specification: client/elicitation, "Form Mode Elicitation Requests" (2026-07-28).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Form {
    /// What is asked, and why.
    pub message: String,
    /// The fields.
    pub schema: ElicitationSchema,
}

/// What the user did with a form.
#[derive(Clone, PartialEq)]
pub enum FormAnswer {
    /// Filled it in. Fields that are left out get the form's defaults, and fields that were not
    /// asked for are not sent. Content that does not fit the form is never sent: the server gets an
    /// error.
    Accept(Map<FieldValue>),
    /// Refused.
    Decline,
    /// Closed it without a choice.
    Cancel,
}

impl FormAnswer {
    /// Filled in, with these fields.
    #[must_use]
    pub fn accept<K, V>(content: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<Box<str>>,
        V: Into<FieldValue>,
    {
        let mut fields = Map::new();
        for (name, value) in content {
            fields.insert(name, value);
        }
        Self::Accept(fields)
    }
}

/// Names the fields and not what they hold: what a user typed does not belong in a log.
impl fmt::Debug for FormAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accept(content) => {
                let fields: Vec<&str> = content.keys().collect();
                f.debug_tuple("Accept").field(&fields).finish()
            }
            Self::Decline => f.write_str("Decline"),
            Self::Cancel => f.write_str("Cancel"),
        }
    }
}

impl Form {
    pub(super) fn admit(params: ElicitFormParams) -> Result<Self, Error> {
        let schema = params.requested_schema;
        let required = schema.required.as_ref().map_or(0, Vec::len);
        if schema.properties.len().max(required) > MAX_FIELDS {
            return Err(Error::invalid_params(format!(
                "the form has more than {MAX_FIELDS} fields"
            )));
        }
        Ok(Self {
            message: params.message,
            schema,
        })
    }

    /// What the form is filled in with to start with. A default that does not fit its own field is
    /// none.
    #[must_use]
    pub fn defaults(&self) -> Map<FieldValue> {
        let mut defaults = Map::new();
        for (name, field) in self.schema.properties.iter() {
            if let Some(default) = default_of(field).filter(|value| fits(value, field)) {
                defaults.insert(name, default);
            }
        }
        defaults
    }

    /// The form as it stands, with nothing changed.
    #[must_use]
    pub fn accept_defaults(&self) -> FormAnswer {
        FormAnswer::Accept(self.defaults())
    }

    /// The content as it would be sent: with the defaults of the fields that it leaves out, and
    /// without fields that were not asked for.
    #[must_use]
    pub fn complete(&self, content: &Map<FieldValue>) -> Map<FieldValue> {
        let mut complete = Map::new();
        for (name, field) in self.schema.properties.iter() {
            let default = || default_of(field).filter(|value| fits(value, field));
            if let Some(value) = content.get(name).cloned().or_else(default) {
                complete.insert(name, value);
            }
        }
        complete
    }

    /// Checks content that is about to be sent, for who asks users themselves: they can correct it.
    ///
    /// # Errors
    /// The first field that does not hold what is asked for.
    pub fn check(&self, content: &Map<FieldValue>) -> Result<(), InvalidContent> {
        ElicitResult::accept(self.complete(content)).validate(&self.schema)
    }
}

/// Puts a form before its handler, and holds the answer against it.
pub(super) async fn answer(
    handler: &OnForm,
    form: Form,
    question: Question,
) -> Result<ElicitResult, Error> {
    let content = match handler.run(form.clone(), question).await? {
        FormAnswer::Accept(content) => content,
        FormAnswer::Decline => return Ok(ElicitResult::decline()),
        FormAnswer::Cancel => return Ok(ElicitResult::cancel()),
    };
    for name in content.keys() {
        if !form.schema.properties.contains_key(name) {
            tracing::warn!(field = ?name, "a field that no server asked for is not sent");
        }
    }
    let result = ElicitResult::accept(form.complete(&content));
    result.validate(&form.schema).map_err(|misfit| {
        tracing::warn!(?misfit, "an answer that does not fit its form is not sent");
        Error::internal(format!("the answer does not fit what was asked: {misfit}"))
    })?;
    Ok(result)
}

fn default_of(field: &PrimitiveSchema) -> Option<FieldValue> {
    match field {
        PrimitiveSchema::String(field) => field.default.clone().map(FieldValue::String),
        PrimitiveSchema::Number(field) => field.default.clone().map(FieldValue::Number),
        PrimitiveSchema::Boolean(field) => field.default.map(FieldValue::Bool),
        PrimitiveSchema::SingleSelect(field) => field.default.clone().map(FieldValue::String),
        PrimitiveSchema::MultiSelect(field) => field.default.clone().map(FieldValue::List),
        PrimitiveSchema::LegacyEnum(field) => field.default.clone().map(FieldValue::String),
        _ => None,
    }
}

fn fits(value: &FieldValue, field: &PrimitiveSchema) -> bool {
    let alone = ElicitationSchema::new().optional("value", field.clone());
    let FormAnswer::Accept(content) = FormAnswer::accept([("value", value.clone())]) else {
        return false;
    };
    ElicitResult::accept(content).validate(&alone).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use turnbuckle_types::{ErrorKind, Problem};

    use super::*;

    fn form(schema: Value) -> Form {
        let params = json!({"message": "m", "requestedSchema": schema});
        Form::admit(serde_json::from_value(params).unwrap()).unwrap()
    }

    fn every_kind() -> Form {
        form(
            json!({"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string", "minLength": 2},
                "mail": {"type": "string", "format": "email", "default": "a@example.com"},
                "age": {"type": "integer", "minimum": 18, "default": 20},
                "sure": {"type": "boolean", "default": false},
                "plain": {"type": "string", "enum": ["a", "b"], "default": "b"},
                "titled": {"type": "string", "oneOf": [{"const": "x", "title": "X"}], "default": "x"},
                "old": {"type": "string", "enum": ["o"], "enumNames": ["O"], "default": "o"},
                "many": {"type": "array", "items": {"type": "string", "enum": ["p", "q"]},
                    "default": ["q", "p"]},
                "none": {"type": "number"},
                "wrong": {"type": "integer", "maximum": 3, "default": 4},
            }}),
        )
    }

    fn told(content: &Map<FieldValue>) -> Value {
        serde_json::to_value(content).unwrap()
    }

    // requirement: 8bf2e656ecbf
    #[test]
    fn defaults_of_every_kind_are_filled_in_unless_they_do_not_fit() {
        let defaults = json!({"mail": "a@example.com", "age": 20, "sure": false, "plain": "b",
            "titled": "x", "old": "o", "many": ["q", "p"]});
        assert_eq!(told(&every_kind().defaults()), defaults);
        let FormAnswer::Accept(content) = every_kind().accept_defaults() else {
            panic!("accepted");
        };
        let misfit = every_kind().check(&content).unwrap_err();
        assert_eq!((&*misfit.field, misfit.problem), ("name", Problem::Missing));
    }

    #[test]
    fn what_is_left_out_gets_its_default_and_what_was_not_asked_is_not_sent() {
        let FormAnswer::Accept(content) = FormAnswer::accept([
            ("sure", FieldValue::from(true)),
            ("extra", "x".into()),
            ("name", "Ada".into()),
        ]) else {
            panic!("accepted");
        };
        let complete = every_kind().complete(&content);
        assert_eq!(
            told(&complete),
            json!({"name": "Ada", "mail": "a@example.com", "age": 20, "sure": true, "plain": "b",
                "titled": "x", "old": "o", "many": ["q", "p"]})
        );
        assert!(every_kind().check(&content).is_ok());
    }

    #[test]
    fn what_a_user_typed_is_not_in_a_log() {
        let shown = format!("{:?}", FormAnswer::accept([("name", "secret")]));
        assert_eq!(shown, r#"Accept(["name"])"#);
    }

    #[test]
    fn a_form_is_bounded() {
        let fields = |count: usize| {
            let properties: serde_json::Map<_, _> = (0..count)
                .map(|name| (name.to_string(), json!({"type": "boolean"})))
                .collect();
            json!({"type": "object", "properties": properties})
        };
        let admit = |schema: Value| {
            let params = json!({"message": "m", "requestedSchema": schema});
            Form::admit(serde_json::from_value(params).unwrap())
        };
        assert!(admit(fields(MAX_FIELDS)).is_ok());
        let error = admit(fields(MAX_FIELDS + 1)).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidParams);
        let names = vec!["a"; MAX_FIELDS + 1];
        let required = json!({"type": "object", "properties": {}, "required": names});
        let error = admit(required).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidParams);
    }
}
