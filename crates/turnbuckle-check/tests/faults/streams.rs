//! Faults of the streams and sessions of HTTP.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use http::header::HeaderValue;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use turnbuckle_check::Bind;
use turnbuckle_check::script::Sound;
use turnbuckle_wire::revision::Revision;

use crate::harness::{MARK, Row, error, marking, row};

/// Returns a server that shows its clients other ids of sessions than it has.
fn session_ids(
    shown: impl Fn(&http::request::Parts, &HeaderValue) -> HeaderValue + Send + Sync + 'static,
    own: impl Fn(&HeaderValue) -> HeaderValue + Send + Sync + 'static,
) -> Sound {
    Sound::new()
        .on_head(move |request, head| {
            if let Some(id) = head.headers.get_mut("mcp-session-id") {
                *id = shown(request, id);
            }
        })
        .on_request(move |request| {
            let message: Value = serde_json::from_slice(request.body()).unwrap_or_default();
            let headers = request.headers_mut();
            if message["id"] == "check-opening" {
                headers.insert("x-check", HeaderValue::from_static("opening"));
            }
            if let Some(id) = headers.get_mut("mcp-session-id") {
                *id = own(id);
            }
        })
}

pub(crate) fn rows() -> Vec<Row> {
    let deleting = |status: StatusCode| {
        Sound::new().on_head(move |request, head| {
            if request.method == Method::DELETE {
                head.status = status;
            }
        })
    };
    let lasting = Sound::new().on_head(|request, head| {
        if head.status == StatusCode::NOT_FOUND && request.headers.contains_key("mcp-session-id") {
            head.status = StatusCode::BAD_REQUEST;
        }
    });
    let lenient = marking(Sound::new(), "check-missing").on_head(|request, head| {
        if request.headers.contains_key(MARK) {
            head.status = StatusCode::UNAUTHORIZED;
        }
    });
    let buffered = Sound::new().on_head(|_, head| {
        head.headers.remove("x-accel-buffering");
    });
    let unprimed = Sound::new().on_event(|event| {
        if event.ends_with("data: \n\n") {
            event.clear();
        }
    });
    let repeating = Sound::new().on_event(|event| {
        if let Some((id, _)) = event.strip_prefix("id: ").and_then(|it| it.split_once('-')) {
            let id = format!("id: {id}-");
            *event = event.replacen(&id, "id: 1-", 1);
        }
    });
    let talking = Sound::new().on_reply(|cause, messages| {
        if cause.message["params"]["name"] == "test_tool_with_progress"
            && messages[0].get("result").is_some()
        {
            let id = &cause.message["id"];
            messages.push(json!({"jsonrpc": "2.0", "method": "notifications/message",
                "params": {"level": "info", "data": format!("after {id}")}}));
        }
    });
    let spaced = session_ids(
        |_, id| HeaderValue::from_bytes(&[id.as_bytes(), b" x"].concat()).unwrap(),
        |id| {
            HeaderValue::from_bytes(
                id.as_bytes()
                    .trim_ascii_end()
                    .strip_suffix(b" x")
                    .unwrap_or_default(),
            )
            .unwrap()
        },
    );
    // The sessions of checks that look at heads have one id; there is one of them at a time.
    let same = HeaderValue::from_static("same");
    let newest = Arc::new(Mutex::new(same.clone()));
    let (own, shown) = (Arc::clone(&newest), same.clone());
    let repeated = session_ids(
        move |request, id| match request.headers.contains_key("x-check") {
            true => {
                *newest.lock().unwrap() = id.clone();
                shown.clone()
            }
            false => id.clone(),
        },
        move |id| {
            if *id == same {
                own.lock().unwrap().clone()
            } else {
                id.clone()
            }
        },
    );
    let sound = Sound::new();
    let everywhere = sound.clone();
    let doubling = sound.on_reply(move |cause, messages| {
        let is_it = cause.message["params"]["name"] == "test_tool_with_progress";
        for message in messages
            .iter()
            .filter(|it| is_it && it["method"] == "notifications/progress")
        {
            everywhere.announce(message);
        }
    });
    let mixing = Sound::new().on_request(|request| {
        let last = request
            .headers()
            .get("last-event-id")
            .and_then(|it| it.to_str().ok());
        let stream = last.and_then(|it| it.split_once('-')?.0.parse::<usize>().ok());
        if let Some(stream) = stream {
            let next = HeaderValue::from_str(&format!("{}-0", stream + 1)).unwrap();
            request.headers_mut().insert("last-event-id", next);
        }
    });
    let is_resumed = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_resumed);
    let giving_up = Sound::new()
        .on_request(move |request| {
            if request.headers().contains_key("last-event-id") {
                seen.store(true, Ordering::Relaxed);
            }
        })
        .on_reply(move |cause, messages| {
            let is_it = cause.message["params"]["name"] == "test_tool_with_progress";
            let has_result = messages[0].get("result").is_some();
            if is_it && has_result && is_resumed.swap(false, Ordering::Relaxed) {
                let id = &cause.message["id"];
                *messages = vec![json!({"jsonrpc": "2.0", "id": id,
                    "error": {"code": -32603, "message": "the client was lost"}})];
            }
        });
    let full = Sound::new().on_message(|message| {
        (message["id"] == "check-held-after").then(|| vec![error(message, -32603)])
    });
    vec![
        row("http.disconnect-cancels", full),
        row("http.session-id-ascii", spaced),
        row("http.session-id-unique", repeated),
        row("http.one-stream-per-message", doubling)
            .also(&[
                "progress.increasing",
                "progress.token-echoed",
                "http.unrelated-on-get",
            ])
            .alone(Revision::NEWEST_LEGACY, Bind::Http),
        row("http.resume", mixing),
        row("http.disconnect-is-not-cancel", giving_up).alone(Revision::NEWEST_LEGACY, Bind::Http),
        row("http.session-missing-400", lenient),
        row("http.delete", deleting(StatusCode::INTERNAL_SERVER_ERROR)),
        row("http.session-ended-404", lasting),
        row("http.no-buffering", buffered),
        row("http.priming-event", unprimed).revisions([Revision::V2025_11_25]),
        row("http.event-ids-unique", repeating),
        row("http.stream-ends-with-response", talking),
    ]
}
