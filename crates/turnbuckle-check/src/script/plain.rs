//! The reactions of a correct server that has next to nothing.

use serde_json::{Value, json};

use turnbuckle_wire::revision::{EraKind, Revision};

use super::{ReceivedMessage, Step};

pub(super) fn steps(received: &ReceivedMessage, revision: Revision) -> Vec<Step> {
    let is_modern = revision.features().era == EraKind::Modern;
    let capabilities = json!({"tools": {}, "resources": {"subscribe": true}, "prompts": {},
        "logging": {}, "completions": {}});
    let result = match received.method() {
        "initialize" if !is_modern => json!({"protocolVersion": revision.as_str(),
            "capabilities": capabilities, "serverInfo": {"name": "peer", "version": "0"}}),
        "server/discover" if is_modern => json!({"resultType": "complete",
            "supportedVersions": [revision.as_str()], "capabilities": capabilities,
            "ttlMs": 0, "cacheScope": "private"}),
        "initialize" | "server/discover" => return vec![received.refuse(-32601, "no such method")],
        "tools/call" => json!({"content": [{"type": "text", "text": "sound"}]}),
        "tools/list" => json!({"tools": []}),
        "resources/read" => json!({"contents": [{"uri": "a:b", "text": "sound"}]}),
        _ if received.id().is_null() || received.method().is_empty() => return Vec::new(),
        _ => json!({}),
    };
    vec![received.answer(with_result_type(result, is_modern))]
}

/// Adds the result type, which modern results must have.
fn with_result_type(mut result: Value, is_modern: bool) -> Value {
    if is_modern && let Value::Object(members) = &mut result {
        members.insert("resultType".into(), "complete".into());
    }
    result
}
