//! The schemas of the tools.

use serde_json::{Value, json};

pub(super) fn no_arguments() -> Value {
    json!({"type": "object", "properties": {}})
}

fn of_text(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

pub(super) fn name() -> Value {
    of_text("name")
}

pub(super) fn prompt() -> Value {
    of_text("prompt")
}

pub(super) fn message() -> Value {
    of_text("message")
}

pub(super) fn uri() -> Value {
    of_text("uri")
}

pub(super) fn slow() -> Value {
    json!({
        "type": "object",
        "properties": {
            "seconds": {"type": "number", "minimum": 0, "maximum": 60},
            "label": {"type": "string"},
        },
        "required": ["seconds"],
    })
}

pub(super) fn numbers() -> Value {
    json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    })
}

pub(super) fn sum() -> Value {
    json!({
        "type": "object",
        "properties": {"sum": {"type": "integer"}},
        "required": ["sum"],
    })
}

pub(super) fn header_number() -> Value {
    json!({
        "type": "object",
        "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}},
        "required": ["count"],
    })
}

pub(super) fn header() -> Value {
    json!({
        "type": "object",
        "properties": {"value": {"type": "string", "x-mcp-header": "Suffix"}},
        "required": ["value"],
    })
}
