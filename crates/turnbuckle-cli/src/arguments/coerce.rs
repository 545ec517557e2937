//! Conversion of typed text to JSON values, guided by a schema.

use serde_json::{Number, Value};

use super::schema::{ValueSchema, typed_text};
use turnbuckle_types::base::nearest::did_you_mean;

/// A text that a schema does not allow.
#[derive(Debug)]
pub(super) struct Mismatch {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Mismatch {
    fn new(what: impl Into<String>) -> Self {
        Self {
            message: what.into(),
            hint: None,
        }
    }
}

/// Converts text to the value that the schema asks for. A string stays text; without a type, text
/// that is valid JSON becomes that JSON.
pub(super) fn coerce(text: &str, field: &ValueSchema<'_>) -> Result<Value, Mismatch> {
    if let Some(choices) = field.choices() {
        return match_choice(text, &choices);
    }
    let types = field.types();
    if types.is_empty() {
        return Ok(parse_untyped(text));
    }
    if types.contains(&"string") {
        return Ok(Value::from(text));
    }
    for kind in &types {
        if let Some(value) = parse_as(text, kind, field)? {
            return Ok(value);
        }
    }
    Err(Mismatch::new(format!(
        "{text:?} is no {}",
        types.join(" or ")
    )))
}

/// Returns the choice with this text.
fn match_choice(text: &str, choices: &[&Value]) -> Result<Value, Mismatch> {
    if let Some(choice) = choices.iter().find(|choice| typed_text(choice) == text) {
        return Ok((*choice).clone());
    }
    let names: Vec<String> = choices
        .iter()
        .take(50)
        .map(|choice| typed_text(choice))
        .collect();
    Err(Mismatch {
        message: format!("{text:?} is none of {}", names.join(", ")),
        hint: did_you_mean(text, names.iter().map(String::as_str)),
    })
}

/// Parses the text as a value of the type, or returns `None` if it is not one.
fn parse_as(text: &str, kind: &str, field: &ValueSchema<'_>) -> Result<Option<Value>, Mismatch> {
    let trimmed = text.trim();
    Ok(match kind {
        "null" => (trimmed == "null").then_some(Value::Null),
        "boolean" => match trimmed {
            "true" | "yes" | "on" => Some(Value::Bool(true)),
            "false" | "no" | "off" => Some(Value::Bool(false)),
            _ => None,
        },
        "integer" => parse_number(trimmed)
            .filter(|number| {
                number.is_i64()
                    || number.is_u64()
                    || number.as_f64().is_some_and(|n| n.fract() == 0.0)
            })
            .map(Value::Number),
        "number" => parse_number(trimmed).map(Value::Number),
        "object" => serde_json::from_str(trimmed).ok().filter(Value::is_object),
        "array" if trimmed.starts_with('[') => {
            serde_json::from_str(trimmed).ok().filter(Value::is_array)
        }
        "array" => {
            let item = field.item();
            // Free text may contain commas; numbers and choices do not.
            let whole = item.allows_type("string") && item.choices().is_none();
            let parts: Vec<&str> = match whole {
                _ if trimmed.is_empty() => Vec::new(),
                true => vec![text],
                false => trimmed.split(',').map(str::trim).collect(),
            };
            let items = parts.into_iter().map(|part| coerce(part, &item));
            Some(Value::Array(items.collect::<Result<_, _>>()?))
        }
        _ => None,
    })
}

/// Parses a JSON number. A leading `+` is accepted.
fn parse_number(text: &str) -> Option<Number> {
    let text = text.strip_prefix('+').unwrap_or(text);
    serde_json::from_str(text).ok()
}

/// Parses the text as JSON, or else takes it as a string.
fn parse_untyped(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::schema::ArgumentsSchema;
    use super::*;

    fn coerce_with(schema: Value, text: &str) -> Result<Value, String> {
        let root = json!({"properties": {"x": schema}});
        let field = ArgumentsSchema::new(&root).argument("x").unwrap();
        coerce(text, &field).map_err(|why| why.message + " " + &why.hint.unwrap_or_default())
    }

    #[test]
    fn the_schema_decides_the_type() {
        for (schema, text, value) in [
            (json!({"type": "string"}), "5", json!("5")),
            (json!({"type": "string"}), "", json!("")),
            (json!({"type": "integer"}), "5", json!(5)),
            (json!({"type": "integer"}), "-5", json!(-5)),
            (json!({"type": "number"}), "2.5", json!(2.5)),
            (json!({"type": "number"}), "1e3", json!(1000.0)),
            (json!({"type": "boolean"}), "yes", json!(true)),
            (json!({"type": ["integer", "null"]}), "null", json!(null)),
            (json!({"type": ["string", "null"]}), "null", json!("null")),
            (json!({"type": "object"}), "{\"a\":1}", json!({"a": 1})),
            (
                json!({"type": "array", "items": {"type": "number"}}),
                "1, 2",
                json!([1, 2]),
            ),
            (
                json!({"type": "array", "items": {"type": "number"}}),
                "[1]",
                json!([1]),
            ),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                "a, b",
                json!(["a, b"]),
            ),
            (json!({"type": "array"}), "", json!([])),
            (
                json!({"anyOf": [{"type": "null"}, {"type": "number"}]}),
                "3",
                json!(3),
            ),
            (json!({"enum": ["a", 2, null]}), "2", json!(2)),
            (json!({"const": true}), "true", json!(true)),
            (json!({}), "5", json!(5)),
            (json!({}), "five", json!("five")),
            (json!(true), "{\"a\": []}", json!({"a": []})),
        ] {
            assert_eq!(
                coerce_with(schema.clone(), text),
                Ok(value),
                "{schema} {text:?}"
            );
        }
    }

    #[test]
    fn text_of_the_wrong_type_is_refused() {
        for (schema, text, expected) in [
            (json!({"type": "integer"}), "2.5", "no integer"),
            (json!({"type": "integer"}), "", "no integer"),
            (json!({"type": "number"}), "NaN", "no number"),
            (json!({"type": "boolean"}), "maybe", "no boolean"),
            (json!({"type": "object"}), "[1]", "no object"),
            (
                json!({"type": "array", "items": {"type": "integer"}}),
                "1,x",
                "no integer",
            ),
            (
                json!({"enum": ["celsius", "kelvin"]}),
                "celcius",
                "did you mean \"celsius\"?",
            ),
        ] {
            let error = coerce_with(schema.clone(), text).unwrap_err();
            assert!(error.contains(expected), "{schema} {text:?}: {error}");
        }
    }
}
