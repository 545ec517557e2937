//! Faults of declarations.

use serde_json::{Value, json};
use turnbuckle_check::script::Sound;

use crate::harness::{Row, remove, response, result, row};

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
        row("capabilities.undeclared-32601", undeclared),
        row(
            "capabilities.list-changed-declared",
            result("initialize", |result| {
                remove(&mut result["capabilities"]["tools"], "listChanged");
            }),
        ),
    ]
}
