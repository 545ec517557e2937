//! Forms of Rust types: the schema that a derive makes, as the restricted one that a form has.
//!
//! Specification: client/elicitation, "Requested Schema" (2026-07-28).

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use turnbuckle_types::{
    BooleanSchema, ElicitationSchema, Error, MultiSelectItems, MultiSelectSchema, Number,
    NumberSchema, PrimitiveSchema, SingleSelectSchema, StringFormat, StringSchema, TitledChoice,
};

use super::AskError;
use crate::schema::fields_of;

/// The form that asks for a `T`.
pub(super) fn schema_of<T: DeserializeOwned + JsonSchema>() -> Result<ElicitationSchema, AskError> {
    let schema = derived::<T>();
    form(&schema, fields_of::<T>().unwrap_or_default()).map_err(|fault| {
        let name = T::schema_name();
        AskError::Failed(Error::internal(format!("{name} cannot be a form: {fault}")).into())
    })
}

fn derived<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let generator = settings
        .with(|it| it.inline_subschemas = true)
        .into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// What a form cannot say.
type Fault = String;

type Members = Map<String, Value>;

/// A choice, and its title if it has one.
type Choice = (String, Option<String>);

/// What says nothing about the values of a field, or is looked at elsewhere.
const SPOKEN: [&str; 6] = [
    "title",
    "description",
    "default",
    "type",
    "examples",
    "deprecated",
];

fn form(schema: &Value, order: &[&str]) -> Result<ElicitationSchema, Fault> {
    let members = schema.as_object().ok_or("it takes anything")?;
    let mut form = ElicitationSchema::new();
    match kind(members) {
        Some("null") => return Ok(form),
        Some("object") => {}
        _ => return Err("it is no struct with named fields".to_owned()),
    }
    let known = ["$schema", "properties", "required", "additionalProperties"];
    if let Some(other) = unknown(members, &known) {
        return Err(format!("a form has no `{other}`"));
    }
    let required = list(members, "required");
    let required = |name: &str| required.iter().flatten().any(|it| it == name);
    let mut properties: Vec<_> = members
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .collect();
    properties
        .sort_by_key(|(name, _)| order.iter().position(|it| it == name).unwrap_or(usize::MAX));
    for (name, property) in properties {
        let field = field(property).map_err(|fault| format!("field `{name}`: {fault}"))?;
        form = if required(name) {
            form.required(name, field)
        } else {
            form.optional(name, field)
        };
    }
    Ok(form)
}

fn field(schema: &Value) -> Result<PrimitiveSchema, Fault> {
    let members = plain(schema.as_object().ok_or("it takes anything")?);
    let members = &members;
    if let Some(choices) = choices(members)? {
        return single(members, choices).map(Into::into);
    }
    match kind(members) {
        Some("string") => text(members).map(Into::into),
        Some("integer") => number(members, NumberSchema::integer()).map(Into::into),
        Some("number") => number(members, NumberSchema::number()).map(Into::into),
        Some("boolean") => {
            only(members, &[])?;
            let mut field = BooleanSchema::new();
            field.title = said(members, "title");
            field.description = said(members, "description");
            field.default = members.get("default").and_then(Value::as_bool);
            Ok(field.into())
        }
        Some("array") => several(members).map(Into::into),
        Some("object") => Err("a form is flat, it has no objects".to_owned()),
        _ if members.contains_key("$ref") => Err("a form is flat, it has no recursion".to_owned()),
        _ => Err("it has not one type out of text, number, boolean and choice".to_owned()),
    }
}

/// A schema without the `null` of an `Option`, and without what stands in an `allOf` of one.
fn plain(members: &Members) -> Members {
    let mut members = members.clone();
    for key in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(branches)) = members.get(key) else {
            continue;
        };
        let branches = branches.iter().filter_map(Value::as_object);
        let mut rest = branches.filter(|it| kind(it) != Some("null"));
        if let (Some(only), None) = (rest.next(), rest.next()) {
            let only = plain(only);
            members.remove(key);
            for (name, value) in only {
                members.entry(name).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|it| it != "null");
    }
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.retain(|it| !it.is_null());
    }
    members.retain(|key, value| key != "default" || !value.is_null());
    members
}

/// The choices that a schema leaves, each with a title if it has one.
fn choices(members: &Members) -> Result<Option<Vec<Choice>>, Fault> {
    let bad = || "the choices of a form are texts".to_owned();
    let texts = |values: &[Value]| -> Result<Vec<_>, Fault> {
        let text = |it: &Value| Some((it.as_str()?.to_owned(), None));
        values.iter().map(|it| text(it).ok_or_else(bad)).collect()
    };
    if let Some(Value::Array(values)) = members.get("enum") {
        return texts(values).map(Some);
    }
    if let Some(value) = members.get("const") {
        return texts(std::slice::from_ref(value)).map(Some);
    }
    let Some(Value::Array(branches)) = members.get("oneOf").or_else(|| members.get("anyOf")) else {
        return Ok(None);
    };
    let mut all = Vec::new();
    for branch in branches {
        let branch = branch.as_object().ok_or_else(bad)?;
        if let Some(other) = unknown(branch, &["enum", "const"]) {
            return Err(format!("a choice of a form has no `{other}`"));
        }
        let found = choices(branch)?.ok_or_else(bad)?;
        let title = said(branch, "title").or_else(|| said(branch, "description"));
        all.extend(found.into_iter().map(|(value, _)| (value, title.clone())));
    }
    Ok(Some(all))
}

fn single(members: &Members, choices: Vec<Choice>) -> Result<SingleSelectSchema, Fault> {
    only(members, &["enum", "const", "oneOf", "anyOf"])?;
    let mut field = match titled(&choices) {
        Some(titled) => SingleSelectSchema::titled(titled),
        None => SingleSelectSchema::of(choices.into_iter().map(|(value, _)| value)),
    };
    field.title = said(members, "title");
    field.description = said(members, "description");
    field.default = said(members, "default");
    Ok(field)
}

fn several(members: &Members) -> Result<MultiSelectSchema, Fault> {
    only(members, &["items", "minItems", "maxItems", "uniqueItems"])?;
    let items = members.get("items").and_then(Value::as_object).map(plain);
    let choices = items.as_ref().map(choices).transpose()?.flatten();
    let choices = choices.ok_or("a list in a form is one of choices")?;
    let mut field = match titled(&choices) {
        Some(titled) => {
            let titled = titled
                .into_iter()
                .map(|(value, title)| TitledChoice::new(value, title));
            MultiSelectSchema::from_items(
                MultiSelectItems::new().any_of(titled.collect::<Vec<_>>()),
            )
        }
        None => MultiSelectSchema::of(choices.into_iter().map(|(value, _)| value)),
    };
    field.title = said(members, "title");
    field.description = said(members, "description");
    field.min_items = bound(members, "minItems")?;
    field.max_items = bound(members, "maxItems")?;
    field.default = list(members, "default");
    Ok(field)
}

fn text(members: &Members) -> Result<StringSchema, Fault> {
    only(members, &["minLength", "maxLength", "format"])?;
    let mut field = StringSchema::new();
    field.title = said(members, "title");
    field.description = said(members, "description");
    field.min_length = bound(members, "minLength")?;
    field.max_length = bound(members, "maxLength")?;
    field.default = said(members, "default");
    // Another format is one of the type's own, which holds when the answer is decoded.
    field.format = match members.get("format").and_then(Value::as_str) {
        Some("email") => Some(StringFormat::Email),
        Some("uri") => Some(StringFormat::Uri),
        Some("date") => Some(StringFormat::Date),
        Some("date-time") => Some(StringFormat::DateTime),
        _ => None,
    };
    Ok(field)
}

fn number(members: &Members, mut field: NumberSchema) -> Result<NumberSchema, Fault> {
    only(members, &["minimum", "maximum", "format"])?;
    field.title = said(members, "title");
    field.description = said(members, "description");
    field.minimum = bound(members, "minimum")?;
    field.maximum = bound(members, "maximum")?;
    field.default = bound(members, "default")?;
    Ok(field)
}

/// The choices with their titles, if any has one.
fn titled(choices: &[Choice]) -> Option<Vec<(String, String)>> {
    let any = choices.iter().any(|(_, title)| title.is_some());
    any.then(|| {
        let titled = |(value, title): &Choice| {
            (
                value.clone(),
                title.clone().unwrap_or_else(|| value.clone()),
            )
        };
        choices.iter().map(titled).collect()
    })
}

/// The one type of a schema.
fn kind(members: &Members) -> Option<&str> {
    match members.get("type")? {
        Value::Array(types) => match types.as_slice() {
            [only] => only.as_str(),
            _ => None,
        },
        kind => kind.as_str(),
    }
}

fn only(members: &Members, keywords: &[&str]) -> Result<(), Fault> {
    match unknown(members, keywords) {
        Some(other) => Err(format!("a form has no `{other}`")),
        None => Ok(()),
    }
}

fn unknown<'a>(members: &'a Members, keywords: &[&str]) -> Option<&'a str> {
    let mut names = members.keys().map(String::as_str);
    names.find(|it| !SPOKEN.contains(it) && !keywords.contains(it))
}

fn said(members: &Members, name: &str) -> Option<String> {
    members.get(name)?.as_str().map(str::to_owned)
}

fn list(members: &Members, name: &str) -> Option<Vec<String>> {
    let values = members.get(name)?.as_array()?.iter();
    values.map(|it| it.as_str().map(str::to_owned)).collect()
}

fn bound(members: &Members, name: &str) -> Result<Option<Number>, Fault> {
    let Some(value) = members.get(name) else {
        return Ok(None);
    };
    let number = value.to_string().parse();
    number
        .map(Some)
        .map_err(|_| format!("`{name}` is no number"))
}

#[cfg(test)]
mod tests;
