//! From the text that was typed to the value that is wanted.

use serde_json::{Number, Value};

use super::shape::{Field, plain};
use crate::suggest::did_you_mean;

/// Why a text is no value of a field.
#[derive(Debug)]
pub(super) struct Mismatch {
    pub(super) what: String,
    pub(super) hint: Option<String>,
}

impl Mismatch {
    fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: None,
        }
    }
}

/// The value of a field that `text` stands for. Where text is allowed it is text; where no type is
/// named it is what it looks like.
pub(super) fn coerce(text: &str, field: &Field<'_>) -> Result<Value, Mismatch> {
    if let Some(choices) = field.choices() {
        return choose(text, &choices);
    }
    let types = field.types();
    if types.is_empty() {
        return Ok(guess(text));
    }
    if types.contains(&"string") {
        return Ok(Value::from(text));
    }
    for kind in &types {
        if let Some(value) = read(text, kind, field)? {
            return Ok(value);
        }
    }
    Err(Mismatch::new(format!(
        "{text:?} is no {}",
        types.join(" or ")
    )))
}

fn choose(text: &str, choices: &[&Value]) -> Result<Value, Mismatch> {
    if let Some(choice) = choices.iter().find(|choice| plain(choice) == text) {
        return Ok((*choice).clone());
    }
    let names: Vec<String> = choices
        .iter()
        .take(50)
        .map(|choice| plain(choice))
        .collect();
    Err(Mismatch {
        what: format!("{text:?} is none of {}", names.join(", ")),
        hint: did_you_mean(text, names.iter().map(String::as_str)),
    })
}

/// The text as a value of that type, if it is one.
fn read(text: &str, kind: &str, field: &Field<'_>) -> Result<Option<Value>, Mismatch> {
    let trimmed = text.trim();
    Ok(match kind {
        "null" => (trimmed == "null").then_some(Value::Null),
        "boolean" => match trimmed {
            "true" | "yes" | "on" => Some(Value::Bool(true)),
            "false" | "no" | "off" => Some(Value::Bool(false)),
            _ => None,
        },
        "integer" => number(trimmed)
            .filter(|number| {
                number.is_i64()
                    || number.is_u64()
                    || number.as_f64().is_some_and(|n| n.fract() == 0.0)
            })
            .map(Value::Number),
        "number" => number(trimmed).map(Value::Number),
        "object" => serde_json::from_str(trimmed).ok().filter(Value::is_object),
        "array" if trimmed.starts_with('[') => {
            serde_json::from_str(trimmed).ok().filter(Value::is_array)
        }
        "array" => {
            let item = field.item();
            // A text may hold commas; a number or a word of a list does not.
            let whole = item.takes("string") && item.choices().is_none();
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

/// A number as JSON has it, with the signs that people add.
fn number(text: &str) -> Option<Number> {
    let text = text.strip_prefix('+').unwrap_or(text);
    serde_json::from_str(text).ok()
}

/// What a text looks like: JSON if it is JSON, else text.
fn guess(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::shape::Shape;
    use super::*;

    fn of(schema: Value, text: &str) -> Result<Value, String> {
        let root = json!({"properties": {"x": schema}});
        let field = Shape::of(&root).field("x").unwrap();
        coerce(text, &field).map_err(|why| why.what + " " + &why.hint.unwrap_or_default())
    }

    #[test]
    fn the_schema_says_what_a_text_is() {
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
            assert_eq!(of(schema.clone(), text), Ok(value), "{schema} {text:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (schema, text, told) in [
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
            let error = of(schema.clone(), text).unwrap_err();
            assert!(error.contains(told), "{schema} {text:?}: {error}");
        }
    }
}
