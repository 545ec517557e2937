//! Faults of subscriptions of the modern era.

use serde_json::{Value, json};
use turnbuckle_check::script::Sound;

use crate::harness::{Row, remove, row};

/// Returns a server that changes the notifications of subscriptions that have a method.
fn changed(method: &'static str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Sound {
    Sound::new().on_reply(move |cause, messages| {
        if cause.message["method"] == "subscriptions/listen" {
            for message in messages.iter_mut().filter(|it| it["method"] == method) {
                change(&mut message["params"]);
            }
        }
    })
}

pub(crate) fn rows() -> Vec<Row> {
    let misnamed = changed("notifications/subscriptions/acknowledged", |params| {
        params["_meta"]["io.modelcontextprotocol/subscriptionId"] = 0.into();
    });
    let unnamed = changed("notifications/tools/list_changed", |params| {
        remove(params, "_meta");
    });
    let generous = Sound::new().on_reply(|cause, messages| {
        let filter = &cause.message["params"]["notifications"];
        if filter.get("promptsListChanged").is_some() && filter.get("toolsListChanged").is_none() {
            let id = cause.message["id"].clone();
            messages.push(
                json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": id}}}),
            );
        }
    });
    vec![
        row("listen.acknowledged-first", misnamed),
        row("listen.subscription-id", unnamed),
        row("listen.only-asked-kinds", generous),
    ]
}
