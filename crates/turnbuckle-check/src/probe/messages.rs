//! Parts of messages.

use serde_json::{Map, Value, json};
use turnbuckle_wire::revision::{EraKind, Revision};

/// Returns the members that `_meta` of a modern request must have.
#[must_use]
pub fn modern_meta(revision: Revision, capabilities: &Value) -> Map<String, Value> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": revision.as_str(),
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    meta.as_object().cloned().unwrap_or_default()
}

/// Returns the messages of a frame: several only in a batch.
pub(super) fn elements(message: Value) -> Vec<Value> {
    match message {
        Value::Array(messages) => messages,
        message => vec![message],
    }
}

/// Returns the text of a message's id.
pub(super) fn id_text(message: &Value) -> String {
    message.get("id").unwrap_or(&Value::Null).to_string()
}

/// Returns the texts of the ids of the requests in a frame.
pub(super) fn ids_of_requests(frame: &[u8]) -> Vec<String> {
    let Ok(message) = serde_json::from_slice(frame) else {
        return Vec::new();
    };
    let is_request = |message: &Value| message.get("method").is_some() && !message["id"].is_null();
    elements(message)
        .iter()
        .filter(|message| is_request(message))
        .map(id_text)
        .collect()
}

/// Returns whether the requests of a revision carry an envelope.
pub(super) fn is_modern(revision: Revision) -> bool {
    revision.features().era == EraKind::Modern
}
