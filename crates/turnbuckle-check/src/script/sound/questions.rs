//! The questions that the server has for its client.

use serde_json::{Map, Value, json};

/// A question.
pub(super) struct Ask {
    pub(super) key: &'static str,
    pub(super) method: &'static str,
    pub(super) params: Value,
    /// Capability that the client must have declared.
    pub(super) needs: &'static str,
}

/// The meaning of a state that was given to a client.
pub(super) struct RequestState {
    /// The request that the state belongs to.
    pub(super) request: Value,
    /// The round that was asked.
    pub(super) round: usize,
    /// The answers that were given already.
    pub(super) given: Map<String, Value>,
}

/// Returns a question to the model.
pub(super) fn sampling(key: &'static str, prompt: &str) -> Ask {
    Ask {
        key,
        method: "sampling/createMessage",
        params: json!({
            "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
            "maxTokens": 100,
        }),
        needs: "sampling",
    }
}

/// Returns a form for the user.
pub(super) fn form(key: &'static str, message: &str, schema: Value) -> Ask {
    Ask {
        key,
        method: "elicitation/create",
        params: json!({"message": message, "requestedSchema": schema}),
        needs: "elicitation",
    }
}

/// Returns the question for the roots.
pub(super) fn roots(key: &'static str) -> Ask {
    Ask {
        key,
        method: "roots/list",
        params: json!({}),
        needs: "roots",
    }
}

fn schema(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

pub(super) fn user() -> Value {
    let text = json!({"type": "string"});
    schema(
        json!({"username": text, "email": {"type": "string", "format": "email"}}),
        &["username"],
    )
}

pub(super) fn name() -> Value {
    schema(json!({"name": {"type": "string"}}), &["name"])
}

pub(super) fn confirmation() -> Value {
    schema(json!({"confirmed": {"type": "boolean"}}), &["confirmed"])
}

pub(super) fn defaults() -> Value {
    schema(
        json!({
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
        }),
        &[],
    )
}

pub(super) fn choices() -> Value {
    let titled = json!([{"const": "a", "title": "First"}, {"const": "b", "title": "Second"}]);
    schema(
        json!({
            "untitledSingle": {"type": "string", "enum": ["a", "b"]},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        }),
        &[],
    )
}
