//! Faults of log messages.

use serde_json::{Value, json};
use turnbuckle_check::Bind;
use turnbuckle_check::script::Sound;
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, error, row, without_capability};

/// Key of `_meta` in which a request asks for log messages.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

fn log() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "called"}})
}

/// Returns a server that logs in each call of a tool whose request asks for a level.
fn logging(asked: Value) -> Sound {
    Sound::new().on_reply(move |cause, messages| {
        let params = &cause.message["params"];
        if params["name"] == "test_logging_tool"
            && params["_meta"][LOG_LEVEL] == asked
            && messages[0].get("result").is_some()
        {
            messages.insert(0, log());
        }
    })
}

pub(crate) fn rows() -> Vec<Row> {
    let no_notice = Sound::new().on_message(|message| {
        let is_it = message["params"]["level"] == "notice";
        is_it.then(|| vec![error(message, -32602)])
    });
    let any_level = Sound::new().on_message(|message| {
        let params = message.get_mut("params")?;
        if params["level"] == "check" {
            params["level"] = "info".into();
        }
        if params["_meta"][LOG_LEVEL] == "check" {
            params["_meta"][LOG_LEVEL] = "info".into();
        }
        None
    });
    let late = Sound::new().on_reply(|cause, messages| {
        if cause.message["params"]["_meta"][LOG_LEVEL] == "debug" {
            messages.push(log());
        }
    });
    let on_listen = Sound::new().on_reply(|cause, messages| {
        let is_listen = cause.message["method"] == "subscriptions/listen";
        if is_listen && messages[0].get("method").is_some() {
            messages.push(log());
        }
    });
    vec![
        row("logging.declared", without_capability("logging"))
            .also(&["capabilities.undeclared-32601"]),
        row("logging.set-level", no_notice),
        row("logging.bad-level", any_level),
        row("logging.threshold-kept", logging("error".into())).revisions([Revision::NEWEST]),
        row("logging.only-asked", logging(Value::Null)).revisions([Revision::NEWEST]),
        row("logging.none-after-answer", late).alone(Revision::NEWEST, Bind::Stream),
        row("logging.on-own-stream", on_listen)
            .alone(Revision::NEWEST, Bind::Http)
            .topic("logging"),
    ]
}
