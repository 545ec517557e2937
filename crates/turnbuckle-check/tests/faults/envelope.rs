//! Faults of the envelope of the modern era.

use serde_json::json;
use turnbuckle_check::script::Sound;

use crate::harness::{Row, code, remove, result, row};

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
    vec![
        row("envelope.missing-field-32602", lenient),
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
