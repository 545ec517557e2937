//! Form elicitation: the server asks the user to fill in fields.

use std::fmt;

use turnbuckle_types::{
    ElicitRequestFormParams, ElicitResult, ElicitationSchema, FieldValue, InvalidContent, Map,
    PrimitiveSchemaDefinition, ProtocolError,
};

use crate::input::handler::InputHandler;
use crate::input::question::QuestionContext;

/// The most fields, and the most names of required fields, of a form.
const MAX_FIELDS: usize = 256;

/// The user's handler of form elicitations (`ClientBuilder::on_form`).
pub(crate) type FormHandler = InputHandler<Form, FormAnswer>;

/// A form that a server asks the user to fill in.
///
/// All its texts come from the server: remove what a terminal or a page would interpret before
/// showing them. Let users review and change their answers before they are sent.
///
/// Specification: client/elicitation, "Form Mode Elicitation Requests" (2026-07-28).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Form {
    /// The question, in the server's words.
    pub message: String,
    /// The fields.
    pub schema: ElicitationSchema,
}

/// The user's answer to a [`Form`].
#[derive(Clone, PartialEq)]
pub enum FormAnswer {
    /// The user filled in the form. Missing fields get the form's defaults, and fields that the
    /// form does not have are not sent. Content that does not fit the form is never sent; the
    /// server gets an error instead.
    Accept(Map<FieldValue>),
    /// The user refused.
    Decline,
    /// The user dismissed the form without a choice.
    Cancel,
}

impl FormAnswer {
    /// Creates an accepted answer with these fields.
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

/// Shows the names of the fields without their values, which do not belong in a log.
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
    /// Creates a form from the parameters of `elicitation/create`.
    ///
    /// # Errors
    /// An error of invalid parameters if the form has more than [`MAX_FIELDS`] fields.
    pub(crate) fn from_params(params: ElicitRequestFormParams) -> Result<Self, ProtocolError> {
        let schema = params.requested_schema;
        let required = schema.required.as_ref().map_or(0, Vec::len);
        if schema.properties.len().max(required) > MAX_FIELDS {
            return Err(ProtocolError::invalid_params(format!(
                "the form has more than {MAX_FIELDS} fields"
            )));
        }
        Ok(Self {
            message: params.message,
            schema,
        })
    }

    /// Returns the defaults of the fields. A default that does not fit its own field is left out.
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

    /// Returns an accepted answer with the defaults.
    ///
    /// # Errors
    /// If a required field has no default, which only the user can fill in. The error names it.
    pub fn accept_defaults(&self) -> Result<FormAnswer, InvalidContent> {
        let defaults = self.defaults();
        self.validate(&defaults)?;
        Ok(FormAnswer::Accept(defaults))
    }

    /// Returns the content as it would be sent: with the defaults of missing fields, and without
    /// fields that the form does not have.
    #[must_use]
    pub fn with_defaults(&self, content: &Map<FieldValue>) -> Map<FieldValue> {
        let mut complete = Map::new();
        for (name, field) in self.schema.properties.iter() {
            let default = || default_of(field).filter(|value| fits(value, field));
            if let Some(value) = content.get(name).cloned().or_else(default) {
                complete.insert(name, value);
            }
        }
        complete
    }

    /// Checks content before it is sent, so that the user can correct it.
    ///
    /// # Errors
    /// Returns the first field that does not fit.
    pub fn validate(&self, content: &Map<FieldValue>) -> Result<(), InvalidContent> {
        ElicitResult::accept(self.with_defaults(content)).validate(&self.schema)
    }
}

/// Passes a form to its handler and checks the answer.
pub(crate) async fn answer_form(
    handler: &FormHandler,
    form: Form,
    question: QuestionContext,
) -> Result<ElicitResult, ProtocolError> {
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
    let result = ElicitResult::accept(form.with_defaults(&content));
    result.validate(&form.schema).map_err(|misfit| {
        tracing::warn!(?misfit, "an answer that does not fit its form is not sent");
        ProtocolError::internal(format!("the answer does not fit what was asked: {misfit}"))
    })?;
    Ok(result)
}

/// Returns the default of a field.
fn default_of(field: &PrimitiveSchemaDefinition) -> Option<FieldValue> {
    match field {
        PrimitiveSchemaDefinition::String(field) => field.default.clone().map(FieldValue::String),
        PrimitiveSchemaDefinition::Number(field) => field.default.clone().map(FieldValue::Number),
        PrimitiveSchemaDefinition::Boolean(field) => field.default.map(FieldValue::Bool),
        PrimitiveSchemaDefinition::SingleSelect(field) => {
            field.default.clone().map(FieldValue::String)
        }
        PrimitiveSchemaDefinition::MultiSelect(field) => {
            field.default.clone().map(FieldValue::List)
        }
        PrimitiveSchemaDefinition::LegacyEnum(field) => {
            field.default.clone().map(FieldValue::String)
        }
        _ => None,
    }
}

/// Returns whether a value fits its field.
fn fits(value: &FieldValue, field: &PrimitiveSchemaDefinition) -> bool {
    let alone = ElicitationSchema::new().optional("value", field.clone());
    let FormAnswer::Accept(content) = FormAnswer::accept([("value", value.clone())]) else {
        return false;
    };
    ElicitResult::accept(content).validate(&alone).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use turnbuckle_types::{ErrorKind, FieldProblem};

    use super::*;

    fn form(schema: Value) -> Form {
        let params = json!({"message": "m", "requestedSchema": schema});
        Form::from_params(serde_json::from_value(params).unwrap()).unwrap()
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

    fn to_json(content: &Map<FieldValue>) -> Value {
        serde_json::to_value(content).unwrap()
    }

    // requirement: 8bf2e656ecbf
    #[test]
    fn defaults_of_every_kind_are_filled_in_unless_they_do_not_fit() {
        let defaults = json!({"mail": "a@example.com", "age": 20, "sure": false, "plain": "b",
            "titled": "x", "old": "o", "many": ["q", "p"]});
        assert_eq!(to_json(&every_kind().defaults()), defaults);
    }

    #[test]
    fn defaults_are_not_accepted_while_a_required_field_has_none() {
        let misfit = every_kind().accept_defaults().unwrap_err();
        assert_eq!(
            (&*misfit.field, misfit.problem),
            ("name", FieldProblem::Missing)
        );
        let complete = form(json!({"type": "object", "required": ["sure"],
            "properties": {"sure": {"type": "boolean", "default": true}}}));
        let accepted = complete.accept_defaults().unwrap();
        assert_eq!(accepted, FormAnswer::accept([("sure", true)]));
    }

    #[test]
    fn missing_fields_get_defaults_and_unknown_fields_are_not_sent() {
        let FormAnswer::Accept(content) = FormAnswer::accept([
            ("sure", FieldValue::from(true)),
            ("extra", "x".into()),
            ("name", "Ada".into()),
        ]) else {
            panic!("accepted");
        };
        let complete = every_kind().with_defaults(&content);
        assert_eq!(
            to_json(&complete),
            json!({"name": "Ada", "mail": "a@example.com", "age": 20, "sure": true, "plain": "b",
                "titled": "x", "old": "o", "many": ["q", "p"]})
        );
        assert!(every_kind().validate(&content).is_ok());
    }

    #[test]
    fn field_values_are_not_shown_by_debug() {
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
        let from_params = |schema: Value| {
            let params = json!({"message": "m", "requestedSchema": schema});
            Form::from_params(serde_json::from_value(params).unwrap())
        };
        assert!(from_params(fields(MAX_FIELDS)).is_ok());
        let error = from_params(fields(MAX_FIELDS + 1)).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidParams);
        let names = vec!["a"; MAX_FIELDS + 1];
        let required = json!({"type": "object", "properties": {}, "required": names});
        let error = from_params(required).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidParams);
    }
}
