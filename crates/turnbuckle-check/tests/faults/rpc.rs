//! Faults of JSON-RPC.

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use turnbuckle_check::script::Sound;
use turnbuckle_check::{Bind, Exchange, Target, exchange};
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, code, remove, result, row, target};

fn answering(is_it: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Sound {
    Sound::new().on_message(move |message| {
        is_it(message).then(|| {
            vec![json!({"jsonrpc": "2.0", "id": "none",
            "error": {"code": -32601, "message": "no such notification"}})]
        })
    })
}

pub(crate) fn rows() -> Vec<Row> {
    let numbers = Sound::new().on_reply(|_, messages| {
        for message in messages {
            let number = message["id"].as_str().and_then(|id| id.parse::<i64>().ok());
            if let Some(number) = number {
                message["id"] = number.into();
            }
        }
    });
    let null_ids = Sound::new().on_reply(|_, messages| {
        for message in messages {
            if message.get("error").is_some() && message.get("id").is_none() {
                message["id"] = Value::Null;
            }
        }
    });
    let half_batch =
        Sound::new().on_message(|message| (message["id"] == "batch-2").then(Vec::<Value>::new));
    let guessing = Sound::new().on_message(|message| {
        if message["id"].is_null() && message.get("id").is_some() {
            message["id"] = 0.into();
        }
        None
    });
    let late = Sound::new().on_reply(|cause, messages| {
        if cause.message["method"] == "tasks/update" {
            for message in messages {
                message["error"]["code"] = (-32602).into();
            }
        }
    });
    vec![
        row("rpc.id-type-kept", numbers),
        row("rpc.unknown-method-32601", code(-32601, -32603))
            .also(&["http.unknown-method-404", "rpc.other-methods-32601"]),
        row("rpc.parse-error-32700", code(-32700, -32603)),
        row("rpc.invalid-request-32600", code(-32600, -32603)),
        row(
            "rpc.notification-unanswered",
            answering(|it| it["params"]["requestId"] == "check-never-sent"),
        ),
        row(
            "rpc.unknown-notification-ignored",
            answering(|it| it["method"] == "notifications/check/unknown"),
        ),
        row("rpc.null-id-refused", guessing),
        row("rpc.other-methods-32601", late),
        row("rpc.batch", half_batch).revisions([Revision::V2025_03_26]),
        row(
            "rpc.schema-valid",
            result("prompts/list", |result| {
                result["prompts"][0]["description"] = 5.into()
            }),
        ),
        row("rpc.no-null-id", null_ids),
        row(
            "rpc.no-later-names",
            result("prompts/list", |result| {
                result["prompts"][0]["icons"] = json!([])
            }),
        )
        .revisions([Revision::V2025_06_18]),
    ]
}

/// Returns the row of a server of HTTP+SSE whose refusals of messages have no id.
pub(crate) fn further_rows() -> Vec<Row> {
    let sound = Sound::new();
    let server = exchange(move |request: Request<Bytes>| {
        let sending = sound.send(request);
        async move {
            let (head, body) = sending.await?.into_parts();
            if head.status != StatusCode::BAD_REQUEST {
                return Ok(Response::from_parts(head, body));
            }
            let body = body.collect().await?.to_bytes();
            let mut message: Value = serde_json::from_slice(&body)?;
            remove(&mut message, "id");
            let body = Full::new(Bytes::from(message.to_string()));
            let body = body.map_err(|never| match never {}).boxed_unsync();
            Ok(Response::from_parts(head, body))
        }
    });
    let server = Target::new("sse").sse(Uri::from_static("http://127.0.0.1/sse"), server);
    vec![target("rpc.schema-valid", server).alone(Revision::ALL[0], Bind::Sse)]
}
