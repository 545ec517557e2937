//! Messages of both eras, as a client writes them.

use serde_json::{Value, json};

pub(crate) fn modern(id: u32, tool: &str) -> String {
    line(&json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            },
            "name": tool, "arguments": { "id": id },
        },
    }))
}

pub(crate) fn legacy(id: u32, tool: &str) -> String {
    let params = json!({ "name": tool, "arguments": { "id": id } });
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
}

pub(crate) fn initialize(id: u32, revision: &str) -> String {
    line(&json!({
        "jsonrpc": "2.0", "id": id, "method": "initialize",
        "params": {
            "protocolVersion": revision, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    }))
}

pub(crate) fn initialized() -> String {
    line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

/// Returns the text of the response to a `tools/call`.
pub(crate) fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}
