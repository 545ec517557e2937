//! Calls: the form of an item's arguments, the faults of arguments that do not fit, and the URIs of
//! resource templates.

mod form;
mod template;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use turnbuckle_schema::Validator;
use turnbuckle_types::{RawJson, RawObject, Schema, UriTemplate};

use crate::api::{Fault, Field, FieldKind, Form, ItemKind, TextRules};
use crate::values::Document;
use crate::values::string::cut;
pub(crate) use template::expand_template;

/// The most arguments of a prompt.
const MAX_ARGUMENTS: usize = 100;

/// The most bytes of a title or a description of an argument.
const MAX_TEXT_BYTES: usize = 2_000;

/// Makes the form of the item whose definition is `raw`.
pub(crate) fn form_of_item(kind: ItemKind, raw: &Bytes) -> Form {
    let item = Document::new(raw.clone());
    let member = |name: &str| item.root().and_then(|root| root.member(name));
    match kind {
        ItemKind::Tools => match member("inputSchema") {
            Some(schema) => form_of_schema(schema.to_bytes()),
            None => form_of_fields(Vec::new()),
        },
        ItemKind::Prompts => {
            let arguments = member("arguments").into_iter().flat_map(|it| it.children());
            let fields = arguments.take(MAX_ARGUMENTS).map(|argument| {
                let whole = |name: &str| argument.member(name).and_then(|value| value.as_str());
                let text = |name: &str| whole(name).map(|text| cut(text, MAX_TEXT_BYTES));
                let required = argument
                    .member("required")
                    .and_then(|value| value.as_bool());
                Field {
                    title: text("title"),
                    help: text("description"),
                    required: required == Some(true),
                    ..text_field(whole("name").unwrap_or_default())
                }
            });
            form_of_fields(fields.collect())
        }
        ItemKind::Templates => {
            let template = member("uriTemplate").and_then(|value| value.as_str());
            let template = UriTemplate::parse(&template.unwrap_or_default());
            let names = template.iter().flat_map(UriTemplate::variables);
            form_of_fields(names.map(|name| text_field(name.to_owned())).collect())
        }
        ItemKind::Resources | ItemKind::Skills | ItemKind::Tasks => form_of_fields(Vec::new()),
    }
}

/// Makes the form of a JSON Schema.
pub(crate) fn form_of_schema(schema: Bytes) -> Form {
    form::make_form(&Document::new(schema))
}

fn form_of_fields(fields: Vec<Field>) -> Form {
    Form {
        fields,
        has_other_members: false,
        left_out: Vec::new(),
        initial: "{}".to_owned(),
    }
}

fn text_field(name: String) -> Field {
    Field {
        name,
        title: None,
        help: None,
        required: false,
        default: None,
        examples: Vec::new(),
        nullable: false,
        header: None,
        kind: FieldKind::Text {
            rules: TextRules::default(),
        },
    }
}

/// The parameters of a request that were read, or their faults.
pub(crate) enum Params {
    /// A JSON object; `None` for an empty text.
    Object(Option<RawObject>),
    /// The text is no JSON object, so that nothing can be sent.
    Invalid(Vec<Fault>),
}

/// Reads the text of parameters.
pub(crate) fn read_params(text: &str) -> Params {
    if text.trim().is_empty() {
        return Params::Object(None);
    }
    match serde_json::from_str(text) {
        Ok(object) => Params::Object(Some(object)),
        Err(_) => {
            let document = Document::new(Bytes::copy_from_slice(text.as_bytes()));
            let sentence = match document.fault() {
                Some(fault) => format!("{} (byte {})", fault.sentence, fault.at),
                None => "the parameters have to be a JSON object".to_owned(),
            };
            Params::Invalid(vec![fault("", sentence)])
        }
    }
}

/// Returns the faults of arguments that do not fit the input schema of a tool: `raw` is its definition.
pub(crate) fn faults_of_arguments(raw: &Bytes, arguments: Option<&RawObject>) -> Vec<Fault> {
    let tool = Document::new(raw.clone());
    let schema = tool.root().and_then(|root| root.member("inputSchema"));
    let Some(schema) = schema.and_then(|schema| schema.raw_text().parse::<Schema>().ok()) else {
        return vec![fault("", "the tool has no input schema that is an object")];
    };
    let validator = match Validator::compile(&schema).and_then(Validator::for_objects) {
        Ok(validator) => validator,
        Err(error) => {
            return vec![fault(
                "",
                format!("the input schema cannot be used: {error}"),
            )];
        }
    };
    let text = arguments.map_or("{}", RawObject::as_str);
    let Ok(json) = serde_json::from_str::<RawJson<'_>>(text) else {
        return vec![fault("", "the arguments have to be JSON")];
    };
    match validator.validate(json) {
        Ok(()) => Vec::new(),
        Err(violations) => violations
            .iter()
            .map(|violation| fault(violation.path(), violation.message()))
            .collect(),
    }
}

pub(crate) fn fault(path: impl Into<String>, sentence: impl Into<String>) -> Fault {
    Fault {
        path: path.into(),
        sentence: sentence.into(),
    }
}
