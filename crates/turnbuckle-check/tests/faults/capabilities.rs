//! Faults of declarations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use turnbuckle_check::script::Sound;
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, remove, response, result, row, without_capability};

/// Returns a server that changes its list of tools, and tells nobody.
fn silent() -> Sound {
    let is_changed = Arc::new(AtomicBool::new(false));
    let changing = is_changed.clone();
    Sound::new()
        .on_message(move |message| {
            let is_trigger = message["params"]["name"] == "test_trigger_tool_change";
            if message["method"] == "tools/call" && is_trigger {
                changing.fetch_not(Ordering::Relaxed);
            }
            None
        })
        .on_reply(move |cause, messages| {
            messages.retain(|it| it["method"] != "notifications/tools/list_changed");
            let has_new = is_changed.load(Ordering::Relaxed);
            for message in messages
                .iter_mut()
                .filter(|_| cause.message["method"] == "tools/list")
            {
                let tools = message["result"]["tools"].as_array_mut();
                if let Some(tools) = tools.filter(|_| has_new) {
                    tools.push(json!({"name": "new", "inputSchema": {"type": "object"}}));
                }
            }
        })
}

pub(crate) fn rows() -> Vec<Row> {
    let undeclared = Sound::new().on_reply(|cause, messages| {
        if ["initialize", "server/discover"]
            .iter()
            .any(|it| cause.message["method"] == *it)
        {
            for message in messages.iter_mut().filter(|it| it.get("result").is_some()) {
                remove(&mut message["result"]["capabilities"], "completions");
            }
        }
    });
    let failing = response("resources/templates/list", |message: &mut Value| {
        *message = json!({"jsonrpc": "2.0", "id": message["id"],
            "error": {"code": -32603, "message": "out of order"}});
    });
    vec![
        row("capabilities.declared-answers", failing),
        row(
            "capabilities.no-core-tasks",
            result("server/discover", |result| {
                result["capabilities"]["tasks"] = json!({"list": {}});
            }),
        )
        .revisions([Revision::NEWEST]),
        row("capabilities.undeclared-32601", undeclared),
        row(
            "capabilities.served-declared",
            without_capability("prompts"),
        )
        .also(&[
            "capabilities.undeclared-32601",
            "capabilities.list-changed-declared",
        ])
        .topic("capabilities"),
        row("capabilities.list-changed-announced", silent()).topic("capabilities"),
        row(
            "capabilities.extension-names",
            result("server/discover", |result| {
                result["capabilities"]["extensions"]["check"] = json!({});
            }),
        ),
        row(
            "capabilities.list-changed-declared",
            result("initialize", |result| {
                remove(&mut result["capabilities"]["tools"], "listChanged");
            }),
        ),
    ]
}
