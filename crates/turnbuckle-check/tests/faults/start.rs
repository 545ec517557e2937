//! Faults of the handshake.

use serde_json::json;
use turnbuckle_check::script::Sound;

use crate::harness::{Row, remove, result, row};

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
    vec![
        row("start.version-offer", echo),
        row(
            "start.server-info",
            result("initialize", |result| {
                remove(&mut result["serverInfo"], "version")
            }),
        )
        .also(&["rpc.schema-valid"]),
        row("start.ping-before-initialized", early_ping),
        row("start.no-requests-before-initialized", early_request),
    ]
}
