//! Faults of conversations: messages that are wrong because of what was said before.

use serde_json::{Value, json};
use turnbuckle_check::script::Sound;
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, call, result, row};

const CAPABILITIES: &str = "test_input_required_result_capabilities";

/// Returns a server that sends messages before it answers `prompts/list`.
fn sending(messages: Vec<Value>) -> Sound {
    Sound::new().on_reply(move |cause, reply| {
        if cause.message["method"] == "prompts/list" {
            let mut messages = messages.clone();
            for message in messages.iter_mut().filter(|it| it.get("id").is_some()) {
                message["id"] = format!("ask-{}", cause.message["id"]).into();
            }
            reply.splice(0..0, messages);
        }
    })
}

/// Returns a server whose refusals of unknown tools have another code in the modern era.
fn code(code: i64) -> Sound {
    Sound::new().on_reply(move |cause, messages| {
        let meta = &cause.message["params"]["_meta"];
        let version = "io.modelcontextprotocol/protocolVersion";
        let is_call = cause.message["method"] == "tools/call" && meta.get(version).is_some();
        for message in messages.iter_mut().filter(|_| is_call) {
            if message["error"]["code"] == -32602 {
                message["error"]["code"] = code.into();
            }
        }
    })
}

/// Returns a server that changes its question to the model.
fn sampling(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Sound {
    call(CAPABILITIES, move |result| {
        if let Some(question) = result.pointer_mut("/inputRequests/greeting/params") {
            change(question);
        }
    })
}

pub(crate) fn rows() -> Vec<Row> {
    let ping = json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"});
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": "nobody"}});
    let text = json!({"type": "text", "text": "Say it"});
    let asking = json!({"jsonrpc": "2.0", "id": "ask", "method": "sampling/createMessage",
        "params": {"maxTokens": 1, "messages": [{"role": "user", "content": text}], "task": {}}});
    let used = json!([{"role": "assistant", "content":
        {"type": "tool_use", "id": "a", "name": "add", "input": {}}}]);
    let legacy = [Revision::NEWEST_LEGACY];
    vec![
        row("rpc.own-ids-unique", sending(vec![ping.clone(), ping])).revisions(legacy),
        row("rpc.error-codes", code(-32042)).also(&["tools.unknown-tool-32602"]),
        row("rpc.own-error-codes", code(-32001)).also(&["tools.unknown-tool-32602"]),
        row(
            "envelope.known-result-types",
            result("prompts/list", |result| {
                if result.get("resultType").is_some() {
                    result["resultType"] = "partial".into();
                }
            }),
        ),
        row("cancel.only-own-requests", sending(vec![cancelled])),
        row(
            "ask.where-allowed",
            result("resources/templates/list", |result| {
                if result.get("resultType").is_some() {
                    result["resultType"] = "input_required".into();
                    result["requestState"] = "state".into();
                }
            }),
        ),
        row(
            "ask.sampling-tools",
            sampling(|it| {
                it["tools"] = json!([{"name": "add", "inputSchema": {"type": "object"}}])
            }),
        ),
        row(
            "ask.sampling-context",
            sampling(|it| it["includeContext"] = "thisServer".into()),
        ),
        row(
            "ask.sampling-pairs",
            sampling(move |it| it["messages"] = used.clone()),
        ),
        row("ask.tasks-declared", sending(vec![asking])).revisions(legacy),
    ]
}
