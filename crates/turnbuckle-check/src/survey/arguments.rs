//! Arguments for a tool, made from its schema.

use serde_json::{Map, Value, json};

/// The depth to which values are made.
const MAX_DEPTH: usize = 8;

/// Returns a value that a schema is likely to accept: its example, default, constant or first choice,
/// else the smallest value of its type. Only required members are set.
#[must_use]
pub(crate) fn sample(schema: &Value) -> Value {
    make(schema, schema, 0)
}

fn make(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::Null;
    }
    for keyword in ["const", "default"] {
        if let Some(value) = schema.get(keyword) {
            return value.clone();
        }
    }
    for keyword in ["examples", "enum"] {
        if let Some(value) = schema[keyword].as_array().and_then(|values| values.first()) {
            return value.clone();
        }
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#')) {
        return match root.pointer(target) {
            Some(target) => make(target, root, depth + 1),
            None => Value::Null,
        };
    }
    for keyword in ["oneOf", "anyOf"] {
        if let Some(first) = schema[keyword].as_array().and_then(|parts| parts.first()) {
            return make(first, root, depth + 1);
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("string") => string(schema),
        Some("integer") => number(schema, true),
        Some("number") => number(schema, false),
        Some("boolean") => json!(false),
        Some("array") => {
            let count = schema["minItems"].as_u64().unwrap_or(0).min(100);
            let item = make(&schema["items"], root, depth + 1);
            (0..count).map(|_| item.clone()).collect()
        }
        Some("null") => Value::Null,
        _ if kind == Some("object") || schema.get("properties").is_some() => {
            object(schema, root, depth)
        }
        _ if depth == 0 => json!({}),
        _ => json!("check"),
    }
}

fn object(schema: &Value, root: &Value, depth: usize) -> Value {
    let required = schema["required"].as_array().into_iter().flatten();
    let required = required.filter_map(Value::as_str).take(1000);
    let member = |name: &str| {
        let value = make(&schema["properties"][name], root, depth + 1);
        (name.to_owned(), value)
    };
    Value::Object(required.map(member).collect::<Map<_, _>>())
}

fn string(schema: &Value) -> Value {
    let text = match schema["format"].as_str() {
        Some("uri" | "url") => "https://example.com/",
        Some("email") => "check@example.com",
        Some("date") => "1999-12-31",
        Some("date-time") => "1999-12-31T03:04:05Z",
        Some("time") => "03:04:05Z",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => "check",
    };
    let bound = |name: &str| {
        schema[name]
            .as_u64()
            .and_then(|it| usize::try_from(it).ok())
    };
    let mut text = text.to_owned();
    if let Some(shortest) = bound("minLength") {
        while text.chars().count() < shortest.min(10_000) {
            text.push('x');
        }
    }
    if let Some(longest) = bound("maxLength") {
        text = text.chars().take(longest).collect();
    }
    text.into()
}

fn number(schema: &Value, is_whole: bool) -> Value {
    let bound = |name: &str| schema[name].as_f64();
    let least = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|it| it + 1.0));
    let most = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|it| it - 1.0));
    let mut value = 1.0_f64;
    if let Some(least) = least {
        value = value.max(least);
    }
    if let Some(most) = most {
        value = value.min(most);
    }
    #[expect(clippy::cast_possible_truncation, reason = "it saturates")]
    match is_whole {
        true => json!(value.ceil() as i64),
        false => json!(value),
    }
}

/// Returns arguments that a schema refuses, made from such that it accepts, each with the breach.
#[must_use]
pub(super) fn sample_breaches(schema: &Value, arguments: &Value) -> Vec<(String, Value)> {
    let mut breaches = Vec::new();
    let required = schema["required"].as_array().into_iter().flatten();
    let mut required = required.filter_map(Value::as_str);
    if let Some(name) = required.next() {
        let breach = format!("without the argument `{name}`, which its schema requires");
        breaches.push((breach, json!({})));
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    let scalar = properties
        .filter_map(|(name, schema)| Some((name, schema["type"].as_str()?)))
        .find(|(_, kind)| ["string", "integer", "number", "boolean"].contains(kind));
    if let Some((name, kind)) = scalar {
        let mut bad = arguments.clone();
        if let Some(members) = bad.as_object_mut() {
            // No leniency makes a scalar of an object.
            members.insert(name.clone(), json!({"check": [1]}));
            let breach = format!("with an object as `{name}`, whose type is {kind}");
            breaches.push((breach, bad));
        }
    }
    breaches
}

/// Returns a value for each argument that a prompt requires.
#[must_use]
pub(super) fn prompt_arguments(prompt: &Value) -> Value {
    let required = prompt["arguments"].as_array().into_iter().flatten();
    let required = required.filter(|argument| argument["required"] == true);
    let value = |argument: &Value| {
        let name = argument["name"].as_str()?;
        let value = match name {
            // The official conformance suite gives it to a prompt of its own.
            "resourceUri" => "test://example-resource",
            _ => "check",
        };
        Some((name.to_owned(), value.into()))
    };
    Value::Object(required.take(100).filter_map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_members_get_the_smallest_value_that_fits() {
        let schema = json!({
            "type": "object",
            "required": ["a", "b", "c", "d", "e", "f"],
            "properties": {
                "a": {"type": "string", "minLength": 7},
                "b": {"type": "integer", "minimum": 3},
                "c": {"enum": ["x", "y"]},
                "d": {"$ref": "#/$defs/place"},
                "e": {"type": "array", "minItems": 2, "items": {"type": "boolean"}},
                "f": {"type": ["number", "null"], "maximum": 0.5},
                "g": {"type": "string"},
            },
            "$defs": {"place": {"type": "object", "required": ["x"], "properties": {"x": {"const": 4}}}},
        });
        let expected =
            json!({"a": "checkxx", "b": 3, "c": "x", "d": {"x": 4}, "e": [false, false], "f": 0.5});
        assert_eq!(sample(&schema), expected);
    }

    #[test]
    fn bad_arguments_lack_a_required_member_or_have_an_object_for_a_scalar() {
        let schema = json!({"type": "object", "required": ["a"],
            "properties": {"a": {"type": "integer"}, "b": {"type": "array"}}});
        let breaches = sample_breaches(&schema, &json!({"a": 1}));
        let values: Vec<_> = breaches.into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, [json!({}), json!({"a": {"check": [1]}})]);
        assert_eq!(sample_breaches(&json!({"type": "object"}), &json!({})), []);
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({"$ref": "#"});
        assert_eq!(sample(&schema), Value::Null);
        assert_eq!(sample(&json!({})), json!({}));
    }
}
