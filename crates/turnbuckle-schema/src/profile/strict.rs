//! The conversion to OpenAI's strict mode.

use serde_json::{Map, Value, json};

use super::description::note;
use super::intersect::conjoin;
use turnbuckle_types::base::text::shorten_to;

type Keywords = Map<String, Value>;

/// The most of a keyword's value that a description repeats, in characters.
const MAX_VALUE_CHARS: usize = 500;

/// Keywords that the mode knows.
pub(super) const KNOWN_KEYWORDS: [&str; 18] = [
    "type",
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
];

fn is_known(name: &str) -> bool {
    KNOWN_KEYWORDS.contains(&name) || is_extension(name)
}

/// Returns whether a keyword is for clients, such as `x-mcp-header`. These are kept.
fn is_extension(name: &str) -> bool {
    name.starts_with("x-")
}

/// Converts the root, which is always an object.
pub(super) fn root(schema: Value) -> Value {
    let Value::Object(mut keywords) = schema else {
        return json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    };
    keywords.remove("nullable");
    strict_object(keywords).into()
}

/// Returns a closed object, or one closed object for each alternative.
fn strict_object(mut keywords: Keywords) -> Keywords {
    let Some(Value::Array(branches)) = ["anyOf", "oneOf"]
        .iter()
        .find_map(|name| keywords.remove(*name))
    else {
        return closed_object(keywords);
    };
    let mut common = keywords.clone();
    let description = common.remove("description");
    let whole: Option<Vec<Value>> = branches
        .iter()
        .map(|branch| Some(closed_object(conjoin(branch.as_object()?, &common)?).into()))
        .collect();
    match whole {
        Some(whole) => {
            let mut made = Keywords::from_iter([("anyOf".to_owned(), whole.into())]);
            made.extend(description.map(|description| ("description".to_owned(), description)));
            made
        }
        None => {
            let mut made = closed_object(keywords);
            note_removed(
                &mut made,
                Keywords::from_iter([("anyOf".to_owned(), branches.into())]),
            );
            made
        }
    }
}

fn strict_schema(schema: Value) -> Value {
    let Value::Object(mut keywords) = schema else {
        return any_json(Keywords::new());
    };
    let is_nullable = keywords.remove("nullable") == Some(Value::Bool(true));
    let kind = keywords
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let made = match kind {
        "object" if is_open(&keywords) => as_json_text(keywords),
        "object" => strict_object(keywords).into(),
        "" if !["anyOf", "oneOf", "enum"]
            .iter()
            .any(|name| keywords.contains_key(*name)) =>
        {
            any_json(keywords)
        }
        _ => keep_known(keywords).into(),
    };
    if is_nullable { nullable(made) } else { made }
}

/// Returns whether an object is a map or has no declared members.
fn is_open(keywords: &Keywords) -> bool {
    let named = keywords.get("properties").and_then(Value::as_object);
    let alternatives = ["anyOf", "oneOf"];
    if named.is_some_and(|named| !named.is_empty()) {
        return false;
    }
    if keywords.contains_key("patternProperties") {
        return true;
    }
    !alternatives.iter().any(|name| keywords.contains_key(*name))
        && keywords.get("additionalProperties") != Some(&Value::Bool(false))
}

fn as_json_text(mut keywords: Keywords) -> Value {
    for trivial in ["type", "properties"] {
        keywords.remove(trivial);
    }
    let description = keywords.remove("description");
    let mut text = Keywords::from_iter([("type".to_owned(), "string".into())]);
    text.extend(description.map(|description| ("description".to_owned(), description)));
    note(&mut text, "An object, as JSON text.");
    note_removed(&mut text, keywords);
    text.into()
}

fn any_json(keywords: Keywords) -> Value {
    let (mut made, removed): (Keywords, Keywords) = keywords.into_iter().partition(|(name, _)| {
        matches!(name.as_str(), "description" | "title") || is_extension(name)
    });
    made.insert(
        "type".to_owned(),
        json!(["string", "number", "boolean", "null"]),
    );
    note(&mut made, "Any JSON; an array or object as JSON text.");
    note_removed(&mut made, removed);
    made.into()
}

/// Returns a closed object that requires all its members.
fn closed_object(mut keywords: Keywords) -> Keywords {
    let required = match keywords.remove("required") {
        Some(Value::Array(names)) => names,
        _ => Vec::new(),
    };
    let members = match keywords.remove("properties") {
        Some(Value::Object(members)) => members,
        _ => Keywords::new(),
    };
    if matches!(keywords.get("additionalProperties"), Some(Value::Bool(_))) {
        keywords.remove("additionalProperties");
    }
    let others = keywords.remove("additionalProperties");
    let mut made = keep_known(keywords);
    if let Some(others) = others {
        note_removed(
            &mut made,
            Keywords::from_iter([("additionalProperties".to_owned(), others)]),
        );
    }
    let names: Value = members.keys().map(String::as_str).collect();
    let members: Keywords = members
        .into_iter()
        .map(|(name, schema)| {
            let is_required = required.iter().any(|one| one.as_str() == Some(&name));
            let schema = strict_schema(schema);
            (
                name,
                if is_required {
                    schema
                } else {
                    nullable(schema)
                },
            )
        })
        .collect();
    made.insert("type".to_owned(), "object".into());
    made.insert("properties".to_owned(), members.into());
    made.insert("required".to_owned(), names);
    made.insert("additionalProperties".to_owned(), false.into());
    made
}

/// Keeps the keywords that the mode supports and moves the others to the description.
fn keep_known(keywords: Keywords) -> Keywords {
    let mut made = Keywords::new();
    let mut removed = Keywords::new();
    let is_array = keywords.get("type").is_some_and(|kind| kind == "array");
    let is_text = keywords.get("type").is_some_and(|kind| kind == "string");
    if is_array && !keywords.contains_key("items") {
        made.insert("items".to_owned(), any_json(Keywords::new()));
    }
    for (name, value) in keywords {
        match (name.as_str(), value) {
            ("anyOf" | "oneOf", Value::Array(branches)) if !made.contains_key("anyOf") => {
                let branches: Value = branches.into_iter().map(strict_schema).collect();
                made.insert("anyOf".to_owned(), branches);
            }
            ("items", value) if is_array => {
                made.insert(name, strict_schema(value));
            }
            // `closed` adds these to objects.
            ("items" | "properties" | "required" | "additionalProperties", value) => {
                removed.insert(name, value);
            }
            ("format", _) if !is_text => {}
            (_, value) if is_known(&name) => {
                made.insert(name, value);
            }
            (_, value) => {
                removed.insert(name, value);
            }
        }
    }
    note_removed(&mut made, removed);
    made
}

/// Adds removed keywords to the description. Keywords without influence on values are dropped.
fn note_removed(schema: &mut Keywords, removed: Keywords) {
    let idle = [
        "deprecated",
        "examples",
        "nullable",
        "readOnly",
        "writeOnly",
    ];
    for (name, value) in removed {
        if is_extension(&name) {
            schema.insert(name, value);
        } else if !idle.contains(&name.as_str()) {
            let value = shorten_to(&value.to_string(), MAX_VALUE_CHARS);
            note(schema, &format!("{name}: {value}"));
        }
    }
}

/// Returns the schema extended by `null`.
fn nullable(schema: Value) -> Value {
    let Value::Object(mut keywords) = schema else {
        return schema;
    };
    if let Some(Value::Array(options)) = keywords.get_mut("enum")
        && !options.contains(&Value::Null)
    {
        options.push(Value::Null);
    }
    match keywords.get_mut("type") {
        Some(Value::Array(types)) => {
            types.retain(|kind| kind != "null");
            types.push("null".into());
        }
        Some(kind) if kind != "null" => {
            let both = json!([kind.take(), "null"]);
            keywords.insert("type".to_owned(), both);
        }
        _ => {}
    }
    if let Some(Value::Array(branches)) = keywords.get_mut("anyOf") {
        let null = json!({ "type": "null" });
        if !branches.contains(&null) {
            branches.push(null);
        }
    }
    keywords.into()
}
