//! JSON-RPC: ids, errors, notifications, batches, and the schema of every message.
//!
//! Specification: basic, "Messages"; JSON-RPC 2.0.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use turnbuckle_wire::revision::Revision;

use crate::case::Bind;
use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::probe::{ProbeError, SchemaFault};
use crate::report::Level;

/// Time in which an error that was overtaken by another answer comes.
const LATE: Duration = Duration::from_millis(300);

/// Time for the answers to the pings of a batch, once a ping after it is answered: they take no work.
const BATCH_TIME: Duration = Duration::from_secs(1);

/// The checks that look for themselves.
pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "rpc.id-type-kept",
        Level::Must,
        "a response has the id of its request, of the same type",
        |cx| Box::pin(id_type_kept(cx)),
    )
    .requires(&["e826b15cd428", "e767e54402d1", "3b4ee2ea5630"])
    .fix("copy the id of the request into the response as it came: a string stays a string"),
    Check::new(
        "rpc.unknown-method-32601",
        Level::Must,
        "a request with an unknown method is refused with -32601",
        |cx| Box::pin(unknown_method(cx)),
    )
    .requires(&["9774fb4db6ac", "b81901557cbc", "448dd036ee4b"])
    .fix("answer a method that you do not know with the error -32601 (Method not found)"),
    Check::new(
        "rpc.parse-error-32700",
        Level::Note,
        "text that is not JSON is answered with -32700",
        |cx| Box::pin(parse_error(cx)),
    )
    .requires(&["9774fb4db6ac"])
    .fix("answer text that cannot be parsed with the error -32700 (Parse error), and go on"),
    Check::new(
        "rpc.invalid-request-32600",
        Level::Note,
        "JSON that is no message is answered with -32600",
        |cx| Box::pin(invalid_request(cx)),
    )
    .requires(&["9774fb4db6ac"])
    .fix("answer JSON that is no request with the error -32600 (Invalid Request), and go on"),
    Check::new(
        "rpc.notification-unanswered",
        Level::Must,
        "a notification gets no response",
        |cx| Box::pin(notification_unanswered(cx)),
    )
    .requires(&["40588302ffff"])
    .fix("send nothing back for a message without an id, not even an error"),
    Check::new(
        "rpc.unknown-notification-ignored",
        Level::Must,
        "an unknown notification is ignored",
        |cx| Box::pin(unknown_notification(cx)),
    )
    .requires(&["40588302ffff"])
    .fix("ignore notifications whose method you do not know"),
    Check::new(
        "rpc.batch",
        Level::Must,
        "a batch of requests is answered",
        |cx| Box::pin(batch(cx)),
    )
    .revisions(&[Revision::V2025_03_26])
    .requires(&["113502c8a07a"])
    .fix("accept an array of messages, and answer each request in it"),
    Check::new(
        "rpc.null-id-refused",
        Level::Note,
        "a request whose id is null is refused",
        |cx| Box::pin(null_id(cx)),
    )
    .requires(&["8aace556e919"])
    .once()
    .fix("refuse a request whose id is neither a string nor an integer with -32600"),
    Check::new(
        "rpc.other-methods-32601",
        Level::Note,
        "a method of other revisions is unknown",
        |cx| Box::pin(other_methods(cx)),
    )
    .requires(&["9774fb4db6ac"])
    .fix("look at the revision of the request before you serve its method"),
];

/// The checks that look at all messages, and are made last.
pub(super) const FINAL_CHECKS: &[Check] = &[
    Check::new(
        "rpc.schema-valid",
        Level::Must,
        "every message is what the schema of its revision says",
        |cx| Box::pin(schema_valid(cx)),
    )
    .requires(&["9774fb4db6ac", "002fd8c3c440", "050b4d5d2c1a", "12365377c146", "34c4a64dd615", "f8a6ca4b25be", "8280a86ec05d", "a2dc63723f98", "bdbcccfb5804", "8aace556e919", "c3b3f8bd1e21", "b81901557cbc", "6855da91cdba", "95e5f05888a1", "e37c9bc083a9", "cec94cc86958", "d23525363a93", "687733bd7544", "689839b7a82e", "f3d948a83dd8", "1f9b50267f31"])
    .fix("compare the message with the schema of its revision, `schema.json` in the repository of the specification"),
    Check::new(
        "rpc.no-later-names",
        Level::Note,
        "no message uses a name that a later revision has introduced",
        |cx| Box::pin(no_later_names(cx)),
    )
    .requires(&["86dfb9db8878", "e38b2b6c6e6a"])
    .fix("leave out what the revision of the request does not define"),
    Check::new(
        "rpc.no-null-id",
        Level::Note,
        "an error without an id says so by leaving it out",
        |cx| Box::pin(no_null_id(cx)),
    )
    .revisions(&[Revision::V2025_11_25, Revision::V2026_07_28])
    .fix("leave `id` out where it could not be read: JSON-RPC says null, but the schema of MCP allows none"),
];

async fn id_type_kept(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for id in [json!("check-1"), json!(70_001), json!("70002")] {
        let method = cx.harmless_request();
        let message = cx.message(id.clone(), method, json!({}));
        let probe = cx.probe().await?;
        probe.send(&message).await?;
        match probe.response(id.clone()).await {
            Ok(_) => {}
            Err(ProbeError::TimedOut { what, limit }) => {
                let stray = probe.take_messages();
                let stray = stray.iter().find(|it| it.get("method").is_none());
                let Some(stray) = stray else {
                    return Err(ProbeError::TimedOut { what, limit }.into());
                };
                let found = stray["id"].clone();
                cx.fault(format!(
                    "the request had the id {id}, the response has {found}"
                ));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

async fn unknown_method(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let answer = cx.request("check/no-such-method", json!({})).await?;
    expect_code(cx, &answer, -32601, "an unknown method");
    Ok(())
}

async fn parse_error(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    refused_text(
        cx,
        br#"{"jsonrpc":"2.0","id":1,"method":"#,
        -32700,
        "text that is not JSON",
    )
    .await
}

async fn invalid_request(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    refused_text(
        cx,
        br#"{"jsonrpc":"2.0"}"#,
        -32600,
        "JSON that is no message",
    )
    .await
}

/// Sends a text and expects an error.
async fn refused_text(
    cx: &mut CheckContext<'_>,
    text: &[u8],
    code: i64,
    what: &str,
) -> Result<(), Stop> {
    let answer = match cx.case().is_duplex() {
        true => match answer_in_order(cx, text, what).await? {
            Some(answer) => answer,
            None => return Ok(()),
        },
        false => {
            let mut probe = cx.fresh(cx.options()).await?;
            probe.bytes(text).await?;
            loop {
                let frame = probe.next_frame().await?;
                // The session's own stream may carry something else.
                if frame.get("method").is_none() {
                    break frame;
                }
            }
        }
    };
    expect_code(cx, &answer, code, what);
    Ok(())
}

/// Sends a text and a request over the shared connection, and returns the error that comes before the answer to
/// the request. Reports a fault if there is none.
async fn answer_in_order(
    cx: &mut CheckContext<'_>,
    text: &[u8],
    what: &str,
) -> Result<Option<Value>, Stop> {
    let method = cx.harmless_request();
    let probe = cx.probe().await?;
    probe.take_messages();
    probe.bytes(text).await?;
    // The answer to what comes after it ends the wait, where a server ignores the text.
    let after = probe.request(method, json!({})).await;
    let mut found = probe.take_messages();
    if after.is_ok() && !found.iter().any(is_error) {
        // A server may answer in another order.
        probe.wait(LATE).await?;
        found = probe.take_messages();
    }
    let found = found.into_iter().find(is_error);
    match (&found, after) {
        (Some(_), Ok(_)) => {}
        // What breaks is this connection, not that of the next check.
        (Some(_), Err(_)) => cx.drop_shared(),
        (None, Ok(_)) => cx.fault(format!("{what} is not answered")),
        (None, Err(error)) => {
            cx.drop_shared();
            cx.fault(format!("after {what} the server answers no more: {error}"));
        }
    }
    Ok(found)
}

async fn notification_unanswered(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": "check-never-sent", "reason": "a check"}});
    expect_no_answer(cx, &notification).await
}

async fn unknown_notification(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let notification =
        json!({"jsonrpc": "2.0", "method": "notifications/check/unknown", "params": {}});
    expect_no_answer(cx, &notification).await
}

/// Sends a notification, then a request, and expects an answer to the request alone.
async fn expect_no_answer(cx: &mut CheckContext<'_>, notification: &Value) -> Result<(), Stop> {
    let harmless = cx.harmless_request();
    let probe = cx.probe().await?;
    probe.take_messages();
    probe.send(notification).await?;
    let answer = probe.request(harmless, json!({})).await;
    let messages = probe.take_messages();
    if let Err(error) = answer {
        let method = &notification["method"];
        cx.drop_shared();
        cx.fault(format!(
            "after {method} the server answers no more: {error}"
        ));
        return Ok(());
    }
    if let Some(answer) = messages.iter().find(|it| it.get("method").is_none()) {
        cx.fault(format!(
            "the notification {} is answered: {answer}",
            notification["method"]
        ));
    }
    Ok(())
}

async fn batch(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let batch = json!([
        {"jsonrpc": "2.0", "id": "batch-1", "method": "ping"},
        {"jsonrpc": "2.0", "id": "batch-2", "method": "ping"},
    ]);
    let probe = cx.probe().await?;
    probe.send(&batch).await?;
    // A server that ignores the batch has read it when what comes after it is answered.
    if let Err(error) = probe.request("ping", json!({})).await {
        cx.drop_shared();
        cx.fault(format!("after a batch the server answers no more: {error}"));
        return Ok(());
    }
    let end = Instant::now() + BATCH_TIME;
    let mut answers = Vec::new();
    for id in ["batch-1", "batch-2"] {
        let Ok(Ok(answer)) = timeout_at(end, probe.response(id)).await else {
            let found = probe.take_messages();
            let refusal = found.into_iter().find(is_error);
            cx.fault(match refusal {
                Some(refusal) => format!("the batch is refused: {}", refusal["error"]),
                None => format!("the ping {id} in a batch is not answered"),
            });
            return Ok(());
        };
        answers.push((id, answer));
    }
    for (id, answer) in answers {
        if answer.get("result").is_none() {
            cx.fault(format!(
                "the ping {id} in a batch failed: {}",
                answer["error"]
            ));
        }
    }
    Ok(())
}

async fn null_id(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut message = cx.message(Value::Null, cx.harmless_request(), json!({}));
    message["id"] = Value::Null;
    let mut probe = cx.fresh(cx.options()).await?;
    probe.send(&message).await?;
    // The answer to what comes after it ends the wait: the request may be ignored.
    let _ = probe.request(cx.harmless_request(), json!({})).await;
    let stray = probe.take_messages();
    let mut answers = stray.iter().chain(probe.waiting_answers());
    if answers.any(|it| it.get("result").is_some()) {
        cx.fault("a request with `\"id\": null` is answered with a result");
    }
    Ok(())
}

async fn other_methods(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let task = json!({"taskId": "check-unknown"});
    let requests = match cx.is_modern() {
        true => [
            ("tasks/result", task),
            ("resources/subscribe", json!({"uri": "check:unknown"})),
        ],
        false => [
            ("tasks/update", task),
            ("subscriptions/listen", json!({"notifications": {}})),
        ],
    };
    for (method, params) in requests {
        let answer = cx.request(method, params).await?;
        if answer["error"]["code"] != -32601 {
            let found = match answer["error"]["code"].as_i64() {
                Some(code) => format!("the error {code}"),
                None => "a result".to_owned(),
            };
            cx.fault(format!(
                "{method}, which {} does not have, is answered with {found} instead of -32601",
                cx.revision()
            ));
        }
    }
    Ok(())
}

async fn schema_valid(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    // Text that is not JSON is judged where it comes.
    // A refusal over Streamable HTTP need not have an id; that of HTTP+SSE, whose revision says nothing of the
    // kind, is a message as any other.
    let is_streamable = cx.case().binding == Bind::Http;
    report_schema_faults(cx, |fault| {
        let may_lack_id = is_streamable && fault.ends_with(": \"id\" is a required property");
        let is_elsewhere =
            is_later_name(fault) || is_null_id(fault) || fault == SchemaFault::NOT_JSON;
        !is_elsewhere && !may_lack_id
    })
}

async fn no_later_names(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    report_schema_faults(cx, is_later_name)
}

fn report_schema_faults(
    cx: &mut CheckContext<'_>,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(), Stop> {
    let mut seen = Vec::new();
    for fault in cx.schema_faults() {
        let Some(text) = fault.faults.iter().find(|text| is_wanted(text)) else {
            continue;
        };
        let key = (fault.method.clone(), text.clone());
        if seen.contains(&key) {
            continue;
        }
        let message = fault.message.clone();
        cx.fault_with(fault.method.clone(), text.clone(), message);
        seen.push(key);
    }
    Ok(())
}

async fn no_null_id(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    report_schema_faults(cx, is_null_id)
}

fn is_null_id(fault: &str) -> bool {
    fault.contains("JSONRPCErrorResponse/id: null is not of types")
}

fn is_error(message: &Value) -> bool {
    message.get("error").is_some()
}

pub(super) fn is_later_name(fault: &str) -> bool {
    fault.contains(" is a name of ")
}

/// Reports a fault unless an answer is an error with that code.
fn expect_code(cx: &mut CheckContext<'_>, answer: &Value, code: i64, what: &str) {
    match answer["error"]["code"].as_i64() {
        Some(found) if found == code => {}
        Some(found) => cx.fault(format!("{what} is refused with {found} instead of {code}")),
        None => cx.fault(format!("{what} is not refused")),
    }
}
