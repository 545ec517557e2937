//! Faults of progress, and of cancellation.

use serde_json::{Value, json};
use turnbuckle_check::script::{Cause, Sound};

use crate::harness::{Row, row};

/// Returns a server that changes what the tool with progress sends.
fn changed(change: impl Fn(&Cause, &mut Vec<Value>) + Send + Sync + 'static) -> Sound {
    Sound::new().on_reply(move |cause, messages| {
        if cause.message["params"]["name"] == "test_tool_with_progress" {
            change(cause, messages);
        }
    })
}

/// Returns a server that changes the parameters of progress notifications.
fn notification(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Sound {
    changed(move |_, messages| {
        for message in messages.iter_mut().filter(|it| it.get("params").is_some()) {
            change(&mut message["params"]);
        }
    })
}

fn progress(token: &Value, value: i64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": token, "progress": value}})
}

pub(crate) fn rows() -> Vec<Row> {
    let late = changed(|cause, messages| {
        let token = &cause.message["params"]["_meta"]["progressToken"];
        if messages[0].get("result").is_some() && !token.is_null() {
            messages.push(progress(token, 200));
        }
    });
    let unasked = changed(|cause, messages| {
        let token = &cause.message["params"]["_meta"]["progressToken"];
        if messages[0].get("result").is_some() && token.is_null() {
            messages.insert(0, progress(&"unasked".into(), 1));
        }
    });
    let stubborn = Sound::new().on_message(|message| {
        let is_cancelled = message["method"] == "notifications/cancelled";
        is_cancelled.then(Vec::<Value>::new)
    });
    let strict = Sound::new().on_message(|message| {
        (message["params"]["requestId"] == "check-unknown").then(|| {
            vec![json!({"jsonrpc": "2.0", "id": "none",
                "error": {"code": -32602, "message": "no such request"}})]
        })
    });
    vec![
        row(
            "progress.token-echoed",
            notification(|it| it["progressToken"] = "other".into()),
        ),
        row(
            "progress.increasing",
            notification(|it| it["progress"] = 5.into()),
        ),
        row("progress.none-after-answer", late).also(&[
            "http.stream-ends-with-response",
            "progress.increasing",
            "progress.token-echoed",
        ]),
        row("progress.only-asked", unasked),
        row("cancel.no-answer-after", stubborn),
        row("cancel.unknown-ignored", strict),
    ]
}
