//! Faults of the handshake.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use turnbuckle_check::script::Sound;
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, error, remove, result, row};

pub(crate) fn rows() -> Vec<Row> {
    let echo = Sound::new().on_reply(|cause, messages| {
        let asked = &cause.message["params"]["protocolVersion"];
        if cause.message["method"] == "initialize" && asked == "1999-12-31" {
            for message in messages {
                message["result"]["protocolVersion"] = asked.clone();
            }
        }
    });
    let early_ping = Sound::new().on_reply(|cause, messages| {
        if cause.message["method"] == "ping" && !cause.is_initialized {
            for message in messages {
                *message = json!({"jsonrpc": "2.0", "id": message["id"],
                    "error": {"code": -32603, "message": "too early"}});
            }
        }
    });
    let early_request = Sound::new().on_reply(|cause, messages| {
        let params = &cause.message["params"];
        if cause.message["method"] == "initialize" && params["capabilities"].get("roots").is_some()
        {
            messages.push(json!({"jsonrpc": "2.0", "id": "early", "method": "roots/list"}));
        }
    });
    let old_offer = Sound::new().on_reply(|cause, messages| {
        if cause.message["params"]["protocolVersion"] == "1999-12-31" {
            for message in messages {
                message["result"]["protocolVersion"] = "2025-03-26".into();
            }
        }
    });
    let early_tools = Sound::new().on_reply(|cause, messages| {
        let is_modern = cause.message["params"].get("_meta").is_some();
        if cause.message["method"] == "tools/list" && cause.revision.is_none() && !is_modern {
            let id = &cause.message["id"];
            *messages = vec![json!({"jsonrpc": "2.0", "id": id, "result": {"tools": []}})];
        }
    });
    let in_batch = Sound::new().on_reply(|cause, messages| {
        if cause.message.is_null() && messages[0]["error"]["message"] == "no such batch" {
            let result = json!({"protocolVersion": "2025-03-26", "capabilities": {},
                "serverInfo": {"name": "sound", "version": "1.0.0"}});
            *messages = vec![json!([{"jsonrpc": "2.0", "id": "batch-1", "result": result}])];
        }
    });
    let under_way = Arc::new(AtomicUsize::new(0));
    let busy = Sound::new().on_message(move |message| {
        if message["params"]["name"] == "slow_compute" {
            under_way.fetch_add(1, Ordering::Relaxed);
        }
        if message["method"] == "notifications/cancelled" {
            under_way.store(0, Ordering::Relaxed);
        }
        let is_full = under_way.load(Ordering::Relaxed) >= 4;
        (message["method"] == "ping" && is_full).then(|| vec![error(message, -32603)])
    });
    vec![
        row("start.version-offer-newest", old_offer),
        row("start.requests-before-initialize", early_tools),
        row("start.batch-refused", in_batch).revisions([Revision::V2025_03_26]),
        row(
            "start.ping-empty",
            result("ping", |result| result["pong"] = true.into()),
        ),
        row("start.version-offer", echo).also(&["start.version-offer-newest"]),
        row(
            "start.server-info",
            result("initialize", |result| {
                remove(&mut result["serverInfo"], "version")
            }),
        )
        .also(&["rpc.schema-valid"]),
        row("start.ping-before-initialized", early_ping),
        row("start.no-requests-before-initialized", early_request),
        row("start.ping-while-busy", busy).also(&["cancel.no-answer-after"]),
    ]
}
