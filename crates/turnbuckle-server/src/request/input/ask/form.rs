//! Forms from Rust types: translates a derived schema into the restricted schema of a form.
//!
//! Specification: client/elicitation, "Requested Schema" (2026-07-28).

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use turnbuckle_types::{
    BooleanSchema, ElicitationSchema, MultiSelectEnumSchema, MultiSelectItems, Number,
    NumberSchema, PrimitiveSchemaDefinition, ProtocolError, SingleSelectEnumSchema, StringFormat,
    StringSchema, TitledChoice,
};

use crate::error::AskError;
use crate::schema::field_names;

/// Returns the form that asks for a `T`.
pub(super) fn schema_of<T: DeserializeOwned + JsonSchema>() -> Result<ElicitationSchema, AskError> {
    let schema = derive_schema::<T>();
    form(&schema, field_names::<T>().unwrap_or_default()).map_err(|fault| {
        let name = T::schema_name();
        AskError::Failed(
            ProtocolError::internal(format!("{name} cannot be a form: {fault}")).into(),
        )
    })
}

/// Returns the derived schema of `T`, without references.
fn derive_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let generator = settings
        .with(|it| it.inline_subschemas = true)
        .into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// The reason that a schema cannot be a form.
type FormFault = String;

/// The members of a schema.
type Members = Map<String, Value>;

/// A choice, with its title if it has one.
type Choice = (String, Option<String>);

/// The keywords that do not restrict a field's values, or are handled elsewhere.
const IGNORED_KEYWORDS: [&str; 6] = [
    "title",
    "description",
    "default",
    "type",
    "examples",
    "deprecated",
];

/// Translates the schema of a struct.
fn form(schema: &Value, order: &[&str]) -> Result<ElicitationSchema, FormFault> {
    let members = schema.as_object().ok_or("it takes anything")?;
    let mut form = ElicitationSchema::new();
    match single_type(members) {
        Some("null") => return Ok(form),
        Some("object") => {}
        _ => return Err("it is no struct with named fields".to_owned()),
    }
    let allowed = ["$schema", "properties", "required", "additionalProperties"];
    if let Some(other) = unknown_keyword(members, &allowed) {
        return Err(format!("a form has no `{other}`"));
    }
    let required = string_list(members, "required");
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

/// Translates the schema of a field.
fn field(schema: &Value) -> Result<PrimitiveSchemaDefinition, FormFault> {
    let members = simplify(schema.as_object().ok_or("it takes anything")?);
    let members = &members;
    if let Some(choices) = choices(members)? {
        return single_select(members, choices).map(Into::into);
    }
    match single_type(members) {
        Some("string") => string_field(members).map(Into::into),
        Some("integer") => number_field(members, NumberSchema::integer()).map(Into::into),
        Some("number") => number_field(members, NumberSchema::number()).map(Into::into),
        Some("boolean") => {
            check_keywords(members, &[])?;
            let mut field = BooleanSchema::new();
            field.title = string_member(members, "title");
            field.description = string_member(members, "description");
            field.default = members.get("default").and_then(Value::as_bool);
            Ok(field.into())
        }
        Some("array") => multi_select(members).map(Into::into),
        Some("object") => Err("a form is flat, it has no objects".to_owned()),
        _ if members.contains_key("$ref") => Err("a form is flat, it has no recursion".to_owned()),
        _ => Err("it has not one type out of text, number, boolean and choice".to_owned()),
    }
}

/// Returns a schema without the `null` of an `Option`, and with an `allOf` of one schema merged.
fn simplify(members: &Members) -> Members {
    let mut members = members.clone();
    for key in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(branches)) = members.get(key) else {
            continue;
        };
        let branches = branches.iter().filter_map(Value::as_object);
        let mut rest = branches.filter(|it| single_type(it) != Some("null"));
        if let (Some(only), None) = (rest.next(), rest.next()) {
            let only = simplify(only);
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

/// Returns the choices that a schema allows, if it is one of choices.
fn choices(members: &Members) -> Result<Option<Vec<Choice>>, FormFault> {
    let bad = || "the choices of a form are texts".to_owned();
    let texts = |values: &[Value]| -> Result<Vec<_>, FormFault> {
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
        if let Some(other) = unknown_keyword(branch, &["enum", "const"]) {
            return Err(format!("a choice of a form has no `{other}`"));
        }
        let found = choices(branch)?.ok_or_else(bad)?;
        let title = string_member(branch, "title").or_else(|| string_member(branch, "description"));
        all.extend(found.into_iter().map(|(value, _)| (value, title.clone())));
    }
    Ok(Some(all))
}

fn single_select(
    members: &Members,
    choices: Vec<Choice>,
) -> Result<SingleSelectEnumSchema, FormFault> {
    check_keywords(members, &["enum", "const", "oneOf", "anyOf"])?;
    let mut field = match with_titles(&choices) {
        Some(titled) => SingleSelectEnumSchema::titled(titled),
        None => SingleSelectEnumSchema::untitled(choices.into_iter().map(|(value, _)| value)),
    };
    field.title = string_member(members, "title");
    field.description = string_member(members, "description");
    field.default = string_member(members, "default");
    Ok(field)
}

fn multi_select(members: &Members) -> Result<MultiSelectEnumSchema, FormFault> {
    check_keywords(members, &["items", "minItems", "maxItems", "uniqueItems"])?;
    let items = members
        .get("items")
        .and_then(Value::as_object)
        .map(simplify);
    let choices = items.as_ref().map(choices).transpose()?.flatten();
    let choices = choices.ok_or("a list in a form is one of choices")?;
    let mut field = match with_titles(&choices) {
        Some(titled) => {
            let titled = titled
                .into_iter()
                .map(|(value, title)| TitledChoice::new(value, title));
            MultiSelectEnumSchema::from_items(
                MultiSelectItems::new().any_of(titled.collect::<Vec<_>>()),
            )
        }
        None => MultiSelectEnumSchema::untitled(choices.into_iter().map(|(value, _)| value)),
    };
    field.title = string_member(members, "title");
    field.description = string_member(members, "description");
    field.min_items = number_member(members, "minItems")?;
    field.max_items = number_member(members, "maxItems")?;
    field.default = string_list(members, "default");
    Ok(field)
}

fn string_field(members: &Members) -> Result<StringSchema, FormFault> {
    check_keywords(members, &["minLength", "maxLength", "format"])?;
    let mut field = StringSchema::new();
    field.title = string_member(members, "title");
    field.description = string_member(members, "description");
    field.min_length = number_member(members, "minLength")?;
    field.max_length = number_member(members, "maxLength")?;
    field.default = string_member(members, "default");
    // Other formats are enforced when the answer is decoded.
    field.format = match members.get("format").and_then(Value::as_str) {
        Some("email") => Some(StringFormat::Email),
        Some("uri") => Some(StringFormat::Uri),
        Some("date") => Some(StringFormat::Date),
        Some("date-time") => Some(StringFormat::DateTime),
        _ => None,
    };
    Ok(field)
}

fn number_field(members: &Members, mut field: NumberSchema) -> Result<NumberSchema, FormFault> {
    check_keywords(members, &["minimum", "maximum", "format"])?;
    field.title = string_member(members, "title");
    field.description = string_member(members, "description");
    field.minimum = number_member(members, "minimum")?;
    field.maximum = number_member(members, "maximum")?;
    field.default = number_member(members, "default")?;
    Ok(field)
}

/// Returns the choices with their titles, if any has a title.
fn with_titles(choices: &[Choice]) -> Option<Vec<(String, String)>> {
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

/// Returns the type of a schema, if it is a single one.
fn single_type(members: &Members) -> Option<&str> {
    match members.get("type")? {
        Value::Array(types) => match types.as_slice() {
            [only] => only.as_str(),
            _ => None,
        },
        kind => kind.as_str(),
    }
}

fn check_keywords(members: &Members, keywords: &[&str]) -> Result<(), FormFault> {
    match unknown_keyword(members, keywords) {
        Some(other) => Err(format!("a form has no `{other}`")),
        None => Ok(()),
    }
}

/// Returns the first keyword of a schema that is neither ignored nor among these.
fn unknown_keyword<'a>(members: &'a Members, keywords: &[&str]) -> Option<&'a str> {
    let mut names = members.keys().map(String::as_str);
    names.find(|it| !IGNORED_KEYWORDS.contains(it) && !keywords.contains(it))
}

fn string_member(members: &Members, name: &str) -> Option<String> {
    members.get(name)?.as_str().map(str::to_owned)
}

fn string_list(members: &Members, name: &str) -> Option<Vec<String>> {
    let values = members.get(name)?.as_array()?.iter();
    values.map(|it| it.as_str().map(str::to_owned)).collect()
}

fn number_member(members: &Members, name: &str) -> Result<Option<Number>, FormFault> {
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
