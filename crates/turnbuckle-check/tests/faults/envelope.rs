//! Faults of the envelope of the modern era.

use serde_json::json;
use turnbuckle_check::Bind;
use turnbuckle_check::script::Sound;

use crate::harness::{MARK, Row, code, marking, remove, result, row};

pub(crate) fn rows() -> Vec<Row> {
    let lenient = Sound::new().on_message(|message| {
        if let Some(meta) = message["params"]["_meta"].as_object_mut()
            && meta.contains_key("io.modelcontextprotocol/protocolVersion")
        {
            meta.entry("io.modelcontextprotocol/clientCapabilities")
                .or_insert_with(|| json!({}));
        }
        None
    });
    let shy = Sound::new().on_reply(|cause, messages| {
        // Later than the first look at the server, which would find no revision.
        let is_late = cause.message["id"].as_i64().is_some_and(|id| id >= 4);
        if cause.message["method"] == "server/discover" && is_late {
            for message in messages.iter_mut().filter(|it| it.get("result").is_some()) {
                message["result"]["supportedVersions"] = json!(["2025-11-25"]);
            }
        }
    });
    let stateful = Sound::new().on_reply(|cause, messages| {
        if cause.message["method"] == "tools/list" && cause.message["id"] == 1 {
            *messages = vec![json!({"jsonrpc": "2.0", "id": 1,
                "error": {"code": -32603, "message": "discover first"}})];
        }
    });
    let asking = Sound::new().on_reply(|cause, messages| {
        let params = &cause.message["params"];
        let capabilities = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        if params["name"] == "test_sampling" && capabilities.get("sampling").is_some() {
            messages.insert(0, json!({"jsonrpc": "2.0", "id": "ask", "method": "ping"}));
        }
    });
    let accepting = marking(Sound::new(), "check-status").on_head(|request, head| {
        if request.headers.contains_key(MARK) {
            head.status = http::StatusCode::OK;
        }
    });
    vec![
        row("envelope.discover", shy),
        row("envelope.nothing-remembered", stateful).also(&["pages.cursor-on-other-connection"]),
        row("envelope.no-server-requests", asking).also(&["rpc.schema-valid"]),
        row("envelope.status-400", accepting).transports([Bind::Http]),
        row("envelope.missing-field-32602", lenient).also(&["envelope.status-400"]),
        row("envelope.unknown-version-32022", code(-32022, -32602)),
        row(
            "envelope.result-type",
            result("resources/list", |result| remove(result, "resultType")),
        )
        .also(&["rpc.schema-valid"]),
        row(
            "envelope.server-info-in-results",
            result("prompts/list", |result| remove(result, "_meta")),
        ),
    ]
}
