//! Faults of lists: their pages, and the hints for caches.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use turnbuckle_check::Bind;
use turnbuckle_check::script::{Cause, Sound};
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, error, list, remove, result, row};

/// The cursor of the second page of tools.
const SECOND: &str = "tools@12";

/// Returns a server that changes the second page of tools.
fn second_page(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Sound {
    Sound::new().on_reply(move |cause: &Cause, messages| {
        if cause.message["params"]["cursor"] == SECOND
            && let Some(result) = messages[0].get_mut("result")
        {
            change(result);
        }
    })
}

/// Returns a server that refuses the second page of tools from the given request on.
fn forgetful(from: usize) -> Sound {
    let asked = AtomicUsize::new(0);
    Sound::new().on_message(move |message| {
        let is_it = message["params"]["cursor"] == SECOND;
        let is_late = is_it && asked.fetch_add(1, Ordering::Relaxed) >= from;
        is_late.then(|| vec![error(message, -32602)])
    })
}

pub(crate) fn rows() -> Vec<Row> {
    let endless = result("tools/list", |result| {
        if result.get("nextCursor").is_none() {
            result["nextCursor"] = SECOND.into();
        }
    });
    let any_cursor = Sound::new().on_message(|message| {
        if message["params"]["cursor"] == "check-no-such-cursor" {
            remove(&mut message["params"], "cursor");
        }
        None
    });
    let asked = AtomicUsize::new(0);
    let moody = list("prompts/list", move |prompts| {
        if asked.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
            prompts.pop();
        }
    });
    vec![
        row("pages.ends", endless).topic("pages"),
        row(
            "pages.no-duplicates",
            second_page(|result| {
                result["tools"][0] =
                    json!({"name": "test_simple_text", "inputSchema": {"type": "object"}})
            }),
        )
        .topic("pages"),
        row("pages.stable", forgetful(1)).alone(Revision::NEWEST_LEGACY, Bind::Stream),
        row("pages.bad-cursor-32602", any_cursor),
        row("pages.same-on-every-connection", moody)
            .alone(Revision::NEWEST, Bind::Http)
            .topic("pages"),
        row("pages.cursor-on-other-connection", forgetful(2))
            .alone(Revision::NEWEST, Bind::Stream)
            .topic("pages"),
        row(
            "cache.hints",
            result("tools/list", |result| remove(result, "ttlMs")),
        )
        .also(&["rpc.schema-valid"]),
        row(
            "cache.ttl",
            result("prompts/list", |result| {
                if result.get("ttlMs").is_some() {
                    result["ttlMs"] = json!(-1);
                }
            }),
        )
        .also(&["rpc.schema-valid"]),
        row(
            "cache.scope-of-pages",
            second_page(|result| {
                if result.get("cacheScope").is_some() {
                    result["cacheScope"] = "private".into();
                }
            }),
        ),
    ]
}
