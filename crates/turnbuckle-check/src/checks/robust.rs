//! Strain that every server has to stand: bounded, and on other machines only when the user asks.
//!
//! Few sentences of the specification speak of it; a server that ends, or answers no more, serves nobody.

use http::Method;
use serde_json::{Value, json};

use crate::case::Bind;
use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::probe::ProbeError;
use crate::report::Level;

/// Depth of a message that a reader without a bound cannot take.
const DEPTH: usize = 20_000;

/// Bytes of a long string.
const LONG_BYTES: usize = 1 << 20;

/// Headers of one request; more than most servers take.
const HEADERS: usize = 200;

/// Requests that are sent at once.
const AT_ONCE: usize = 32;

/// Traces of source code in an error.
const TRACES: [&str; 6] = [
    "Traceback (most recent call last)",
    "panicked at",
    "\n    at ",
    "node_modules",
    "site-packages",
    "stack backtrace",
];

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "robust.requests-at-once",
        Level::Should,
        "32 requests at once are all answered",
        |cx| Box::pin(at_once(cx)),
    )
    .hostile()
    .once()
    .requires(&["e826b15cd428", "e767e54402d1", "e542f66d5d08"])
    .fix("answer each request by its id, whatever else is under way"),
    Check::new(
        "robust.number-limits",
        Level::Must,
        "ids at the limits of exact integers come back unchanged",
        |cx| Box::pin(number_limits(cx)),
    )
    .requires(&["e826b15cd428", "e767e54402d1"])
    .fix("read ids as 64-bit integers, or keep their text"),
    Check::new(
        "robust.nesting",
        Level::Should,
        "a message nested 20,000 deep leaves the server alive",
        |cx| Box::pin(nesting(cx)),
    )
    .hostile()
    .once()
    .fix("bound the depth of JSON that you parse"),
    Check::new(
        "robust.long-strings",
        Level::Should,
        "a method name of 1 MiB is refused, and leaves the server alive",
        |cx| Box::pin(long_strings(cx)),
    )
    .hostile()
    .once()
    .fix("bound the bytes of a message, and refuse names that you do not know"),
    Check::new(
        "robust.many-headers",
        Level::Should,
        "a request with 200 headers leaves the server alive",
        |cx| Box::pin(many_headers(cx)),
    )
    .only_over(&[Bind::Http, Bind::Sse])
    .hostile()
    .once()
    .fix("bound the headers of a request, and answer 431 beyond"),
    Check::new(
        "robust.error-without-stack",
        Level::Note,
        "errors show nothing of the source code",
        |cx| Box::pin(without_stack(cx)),
    )
    .fix("log what went wrong inside, and tell the client only what it can act on"),
];

async fn at_once(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let method = cx.harmless_request();
    let mut probe = cx.fresh(cx.options()).await?;
    let mut ids = Vec::new();
    for _ in 0..AT_ONCE {
        ids.push(probe.start(method, json!({})).await?);
    }
    let mut unanswered = 0;
    for id in ids {
        if let Err(error) = probe.response(id).await {
            unanswered += 1;
            // One wait is enough: the others have had the same time.
            if error.is_costly() {
                break;
            }
        }
    }
    if unanswered > 0 {
        cx.fault(format!(
            "{AT_ONCE} requests were sent at once, and not all were answered"
        ));
    }
    Ok(())
}

async fn number_limits(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    // Beyond 2^53 - 1 JSON has no exact integers in common.
    for id in [0, -1, i64::from(i32::MAX) + 1, (1 << 53) - 1] {
        let message = cx.message(id, cx.harmless_request(), json!({}));
        let probe = cx.probe().await?;
        probe.take_messages();
        probe.send(&message).await?;
        match probe.response(id).await {
            Ok(_) => {}
            Err(error @ ProbeError::TimedOut { .. }) => {
                let strays = probe.take_messages();
                let found = strays.iter().find(|it| it.get("method").is_none());
                let found = found.map(|it| it["id"].to_string());
                cx.drop_shared();
                match found {
                    Some(found) => {
                        cx.fault(format!(
                            "the request had the id {id}, the response has {found}"
                        ));
                    }
                    None => cx.fault(format!("a request with the id {id} failed: {error}")),
                }
            }
            Err(error) => {
                cx.drop_shared();
                cx.fault(format!("a request with the id {id} failed: {error}"));
            }
        }
    }
    Ok(())
}

/// Sends bytes over a connection of their own, and expects that another is served after them.
async fn survives(cx: &mut CheckContext<'_>, frame: &[u8], what: &str) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options()).await?;
    // A server may refuse, or close the connection.
    if probe.bytes(frame).await.is_ok() {
        let _ = probe.next_frame().await;
    }
    drop(probe);
    expect_alive(cx, what).await;
    Ok(())
}

async fn expect_alive(cx: &mut CheckContext<'_>, what: &str) {
    let method = cx.harmless_request();
    let opening = cx.fresh(cx.options());
    let alive = async {
        let mut probe = opening.await?;
        Ok::<_, Stop>(probe.request(method, json!({})).await?)
    };
    if let Err(Stop::Broken(error)) = alive.await {
        cx.fault(format!("after {what} the server answers no more: {error}"));
    }
}

async fn nesting(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let message = cx.message("check-deep", cx.harmless_request(), json!({"check": 7}));
    let deep = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let text = message
        .to_string()
        .replace("\"check\":7", &format!("\"check\":{deep}"));
    survives(cx, text.as_bytes(), "a message nested 20,000 deep").await
}

async fn long_strings(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let name = "x".repeat(LONG_BYTES);
    let message = cx.message("check-long", &name, json!({}));
    let mut probe = cx.fresh(cx.options()).await?;
    let answer = match probe.send(&message).await {
        Ok(()) => probe.next_frame().await.unwrap_or_default(),
        Err(_) => Value::Null,
    };
    drop(probe);
    if answer.get("result").is_some() {
        cx.fault("a request with a method name of 1 MiB has a result");
    }
    expect_alive(cx, "a method name of 1 MiB").await;
    Ok(())
}

async fn many_headers(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut ask = cx.ask(Method::GET, "")?;
    for at in 0..HEADERS {
        ask = ask.header(&format!("x-check-{at}"), "check");
    }
    let _ = ask.send().await;
    expect_alive(cx, "a request with 200 headers").await;
    Ok(())
}

async fn without_stack(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut answers = vec![
        cx.request("check/no-such-method", json!({})).await?,
        cx.request("tools/call", json!({"name": ["check"], "arguments": 7}))
            .await?,
        cx.request("resources/read", json!({"uri": 7})).await?,
    ];
    if let Some(tool) = cx.survey().callable_tools().next() {
        let params = json!({"name": tool["name"], "arguments": {"check-unknown": [null]}});
        answers.push(cx.request("tools/call", params).await?);
    }
    for answer in &answers {
        let mut texts = vec![&answer["error"]["message"], &answer["error"]["data"]];
        if answer["result"]["isError"] == true {
            texts.push(&answer["result"]["content"]);
        }
        let shown = texts.into_iter().flat_map(strings).find_map(|text| {
            let trace = TRACES.into_iter().find(|trace| text.contains(trace))?;
            Some(trace.trim())
        });
        if let Some(trace) = shown {
            cx.fault(format!(
                "an error shows where it came from: it contains `{trace}`"
            ));
        }
    }
    Ok(())
}

/// Returns the strings in a value.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
