//! Example arguments for a tool, generated from its schema.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use turnbuckle::types::Tool;

/// The context of a conformance scenario.
#[derive(Debug, Deserialize)]
pub(crate) struct Context {
    /// Calls with given arguments.
    #[serde(default, rename = "toolCalls")]
    pub(crate) tool_calls: Vec<ToolCall>,
}

/// A call of a tool.
#[derive(Debug, Deserialize)]
pub(crate) struct ToolCall {
    /// The name of the tool.
    pub(crate) name: String,
    /// The arguments of the call.
    #[serde(default)]
    pub(crate) arguments: Value,
}

/// Returns example arguments for all properties of a tool.
pub(crate) fn example(tool: &Tool) -> Value {
    let schema = serde_json::from_str(tool.input_schema.as_str()).unwrap_or(Value::Null);
    value(&schema, 0)
}

fn value(schema: &Value, depth: usize) -> Value {
    if let Some(default) = schema.get("default").or_else(|| schema.get("const")) {
        return default.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(2)),
        Some("boolean") => json!(true),
        Some("string") => json!("example"),
        Some("array") => json!([]),
        Some("null") => Value::Null,
        _ if depth > 8 => Value::Null,
        _ => object(schema, depth),
    }
}

fn object(schema: &Value, depth: usize) -> Value {
    let members = schema["properties"].as_object();
    let members = members.into_iter().flatten();
    let members: Map<String, Value> = members
        .map(|(name, schema)| (name.clone(), value(schema, depth + 1)))
        .collect();
    Value::Object(members)
}
