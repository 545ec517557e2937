//! Log messages.
//!
//! Specification: server/utilities/logging.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_types::LoggingLevel;

use crate::case::Bind;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// The notification with a log message.
const MESSAGE: &str = "notifications/message";

/// The member of `_meta` that asks for log messages of a request.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Tools of the official conformance suite that log, with the level `info`.
const LOGGING_TOOLS: [&str; 2] = ["test_logging_tool", "test_tool_with_logging"];

/// Time in which a message that must not come would come.
const QUIET: Duration = Duration::from_millis(100);

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "logging.declared",
        Level::Must,
        "a server that sends log messages declares `logging`",
        |cx| Box::pin(declaration(cx)),
    )
    .needs(&[Need::Undeclared("logging"), Need::CallableTool])
    .requires(&["e94c0d3ef0ee"])
    .fix("declare the capability `logging`, or send no `notifications/message`"),
    Check::new(
        "logging.set-level",
        Level::Note,
        "every level of the protocol can be set",
        |cx| Box::pin(set_level(cx)),
    )
    .legacy()
    .needs(&[Need::Capability("logging")])
    .fix("answer `logging/setLevel` with an empty result for each of the eight levels"),
    Check::new(
        "logging.bad-level",
        Level::Should,
        "an unknown level is refused with -32602",
        |cx| Box::pin(bad_level(cx)),
    )
    .needs(&[Need::Capability("logging")])
    .requires(&["6c0ee044314c", "d3d5b32fbdf9"])
    .fix("answer a level that the protocol does not have with the error -32602 (Invalid params)"),
    Check::new(
        "logging.threshold-kept",
        Level::Note,
        "no log message is milder than the level that was asked for",
        |cx| Box::pin(threshold(cx)),
    )
    .needs(&[Need::Capability("logging"), Need::CallableTool])
    .fix("compare the level of each message with the level that the client asked for"),
    Check::new(
        "logging.only-asked",
        Level::Must,
        "a request that asks for no log messages gets none",
        |cx| Box::pin(only_asked(cx)),
    )
    .modern()
    .needs(&[Need::CallableTool])
    .requires(&["6bc1b1824a63"])
    .fix("send `notifications/message` only for requests with `io.modelcontextprotocol/logLevel` in `_meta`"),
    Check::new(
        "logging.on-own-stream",
        Level::Must,
        "log messages come on the stream of their request, not on one that listens",
        |cx| Box::pin(own_stream(cx)),
    )
    .modern()
    .only_over(&[Bind::Http])
    .needs(&[Need::Capability("logging"), Need::CallableTool])
    .requires(&["78e4a9b007f2"])
    .fix("send the log messages of a request in the response to it"),
    Check::new(
        "logging.none-after-answer",
        Level::Note,
        "no log message of a request comes after its answer",
        |cx| Box::pin(none_after_answer(cx)),
    )
    .modern()
    .only_over(&[Bind::Pipe, Bind::Stream])
    .needs(&[Need::Capability("logging"), Need::CallableTool])
    .fix("send the log messages of a request before its answer, and none later"),
];

/// Returns the level of a log message; the last one, if it is none.
fn level_of(message: &Value) -> usize {
    let level = LoggingLevel::ALL
        .iter()
        .position(|it| message["params"]["level"] == it.as_str());
    level.unwrap_or(LoggingLevel::ALL.len())
}

fn is_log(message: &&Value) -> bool {
    message["method"] == MESSAGE
}

/// Calls a tool, asks for log messages from a level on, and returns those that came.
async fn call_logging(
    cx: &mut CheckContext<'_>,
    name: &str,
    arguments: &Value,
    level: &str,
) -> Result<Vec<Value>, Stop> {
    let mut params = json!({"name": name, "arguments": arguments});
    if cx.is_modern() {
        params["_meta"] = json!({LOG_LEVEL: level});
    } else if cx.survey().capability("logging").is_some() {
        cx.result("logging/setLevel", json!({"level": level}))
            .await?;
    }
    call(cx, params).await
}

/// Calls a tool and returns the log messages that came.
async fn call(cx: &mut CheckContext<'_>, params: Value) -> Result<Vec<Value>, Stop> {
    let is_duplex = cx.case().is_duplex();
    let fence = cx.harmless_request();
    let probe = cx.probe().await?;
    let _ = probe.take_messages();
    probe.request("tools/call", params).await?;
    if is_duplex {
        probe.request(fence, json!({})).await?;
    } else {
        // A message may take another way than the response.
        probe.wait(QUIET).await?;
    }
    let messages = probe.take_messages().into_iter();
    Ok(messages.filter(|it| is_log(&it)).collect())
}

/// Returns tools that may log, each with arguments: one of the official suite, else the first ones.
fn candidates(cx: &CheckContext<'_>) -> Vec<(String, Value)> {
    let survey = cx.survey();
    let fixtures = LOGGING_TOOLS.iter().filter_map(|name| survey.tool(name));
    let mut tools: Vec<_> = fixtures
        .filter(|tool| survey.is_callable(tool))
        .take(1)
        .collect();
    if tools.is_empty() {
        tools = survey.callable_tools().take(3).collect();
    }
    let with_arguments = |tool: &Value| {
        let name = tool["name"].as_str().unwrap_or_default().to_owned();
        (name, survey.arguments(tool))
    };
    tools.into_iter().map(with_arguments).collect()
}

/// Returns a tool that logs.
async fn logging_tool(cx: &mut CheckContext<'_>) -> Result<(String, Value), Stop> {
    for (name, arguments) in candidates(cx) {
        let logs = call_logging(cx, &name, &arguments, "debug").await?;
        // Only those milder than errors tell whether the level is kept.
        if logs.iter().any(|log| level_of(log) < 4) {
            return Ok((name, arguments));
        }
    }
    Err(Stop::Skip(
        "no tool that was called sends log messages".into(),
    ))
}

async fn declaration(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (name, arguments) in candidates(cx) {
        let logs = call_logging(cx, &name, &arguments, "debug").await?;
        if let Some(log) = logs.first() {
            let sentence = "a call sends a log message, the capability `logging` is not declared";
            cx.fault_with(Some(name), sentence, log.to_string());
        }
    }
    Ok(())
}

async fn set_level(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    // The mildest one is the last, for the checks after this one.
    for level in LoggingLevel::ALL.iter().rev().map(|it| it.as_str()) {
        let answer = cx
            .request("logging/setLevel", json!({"level": level}))
            .await?;
        if let Some(error) = answer.get("error") {
            cx.fault(format!("the level {level:?} cannot be set: {error}"));
        }
    }
    Ok(())
}

async fn bad_level(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (method, params) = match cx.is_modern() {
        true => {
            // What is asked matters not; a list changes nothing.
            let list = cx.survey().pages.first().map(|list| list.method);
            let method = list.unwrap_or(cx.harmless_request());
            (method, json!({"_meta": {LOG_LEVEL: "check"}}))
        }
        false => ("logging/setLevel", json!({"level": "check"})),
    };
    let answer = cx.request(method, params).await?;
    match answer["error"]["code"].as_i64() {
        Some(-32602) => {}
        Some(code) => cx.fault(format!(
            "{method} with the level \"check\" is refused with {code} instead of -32602"
        )),
        None => cx.fault(format!(
            "{method} with the level \"check\" is not refused; the protocol has no such level"
        )),
    }
    Ok(())
}

async fn threshold(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (name, arguments) = logging_tool(cx).await?;
    let logs = call_logging(cx, &name, &arguments, "error").await?;
    if let Some(log) = logs.iter().find(|log| level_of(log) < 4) {
        let level = &log["params"]["level"];
        let sentence = format!(
            "asked for errors and graver messages, the server sends one of the level {level}"
        );
        cx.fault_with(Some(name), sentence, log.to_string());
    }
    Ok(())
}

async fn only_asked(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (name, arguments) in candidates(cx) {
        let logs = call(cx, json!({"name": name, "arguments": arguments})).await?;
        if let Some(log) = logs.first() {
            let sentence = "a call that asks for no log messages sends one";
            cx.fault_with(Some(name), sentence, log.to_string());
        }
    }
    Ok(())
}

async fn own_stream(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (name, arguments) = logging_tool(cx).await?;
    let asked = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true,
        "resourcesListChanged": true}});
    let listen = cx.message("check-listen", "subscriptions/listen", asked);
    let listening = cx.post(&listen)?.send().await?;
    if !listening.is_stream() {
        return Err(Stop::Skip(
            "the server offers no stream that listens".into(),
        ));
    }
    let mut events = listening.events();
    // The acknowledgement.
    events.next_message().await?;
    call_logging(cx, &name, &arguments, "debug").await?;
    while let Some(Some(event)) = events.within(QUIET).await? {
        let message = event
            .message()
            .and_then(|it| serde_json::from_str::<Value>(it).ok());
        if let Some(message) = message.filter(|it| is_log(&it)) {
            let sentence =
                "the log message of a call comes on the stream of `subscriptions/listen`";
            cx.fault_with(Some(name.clone()), sentence, message.to_string());
        }
    }
    Ok(())
}

async fn none_after_answer(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (name, arguments) = logging_tool(cx).await?;
    let fence = cx.harmless_request();
    let probe = cx.probe().await?;
    let params = json!({"name": name, "arguments": arguments, "_meta": {LOG_LEVEL: "debug"}});
    probe.request("tools/call", params).await?;
    // What came before the answer is no fault.
    probe.take_messages();
    probe.wait(QUIET).await?;
    probe.request(fence, json!({})).await?;
    if let Some(log) = probe.take_messages().into_iter().find(|it| is_log(&it)) {
        let sentence = "a log message of a call comes after its answer";
        cx.fault_with(Some(name), sentence, log.to_string());
    }
    Ok(())
}
