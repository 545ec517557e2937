//! Headers of modern requests, which repeat parts of the message.

use http::Method;
use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

use super::session::harmless;
use crate::case::Bind;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::Ask;
use crate::report::Level;

/// The extension for tasks.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The error for headers that differ from the body.
pub(super) const HEADER_MISMATCH: i64 = -32020;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "http.header-version",
        Level::Must,
        "a version header that is missing, or unlike the envelope, is refused with 400 and -32020",
        |cx| Box::pin(version(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .requires(&["82d925404ac5", "20ecfbd5081d", "bf73d8f3fb34"])
    .fix("compare MCP-Protocol-Version with `_meta` of the message before you serve it"),
    Check::new(
        "http.header-method",
        Level::Must,
        "a method header that is missing, or unlike the message, is refused with 400 and -32020",
        |cx| Box::pin(method(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .requires(&["3b889f467d6c", "20ecfbd5081d", "bf73d8f3fb34", "e9b58503fa7b"])
    .fix("compare Mcp-Method with the method of the message before you serve it"),
    Check::new(
        "http.header-name",
        Level::Must,
        "a name header that is missing, or unlike the message, is refused with 400 and -32020",
        |cx| Box::pin(name(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .requires(&["3b889f467d6c", "20ecfbd5081d", "bf73d8f3fb34", "e9b58503fa7b"])
    .fix("compare Mcp-Name with the name or URI in the message before you serve it"),
    Check::new(
        "http.header-param",
        Level::Must,
        "a parameter header that is missing, or unlike the argument, is refused with 400 and -32020",
        |cx| Box::pin(param(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .needs(&[Need::CallableTool])
    .requires(&["379ab1229840", "3d5c7e8208fa", "d06efd140c15", "20ecfbd5081d"])
    .fix("compare each Mcp-Param header with the argument whose schema has `x-mcp-header`"),
    Check::new(
        "http.header-case",
        Level::Must,
        "the value of a header in another case is another value",
        |cx| Box::pin(case(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .requires(&["3b889f467d6c"])
    .fix("compare the values of headers byte by byte; only their names ignore case"),
    Check::new(
        "http.legacy-headers-ignored",
        Level::Should,
        "a modern request with headers of legacy sessions is served",
        |cx| Box::pin(legacy_headers(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .requires(&["2a86e4bcd0ff", "dbf6033d3a0c"])
    .fix("ignore Mcp-Session-Id and Last-Event-ID on modern requests"),
];

/// Sends a request whose headers are wrong and expects a refusal.
pub(super) async fn expect_mismatch(
    cx: &mut CheckContext<'_>,
    ask: Ask,
    what: &str,
) -> Result<(), Stop> {
    let (status, answer) = status_and_message(ask).await?;
    expect_mismatch_in(cx, status, &answer, what);
    Ok(())
}

/// Returns the status of a response, and its body if that is JSON.
async fn status_and_message(ask: Ask) -> Result<(u16, Value), Stop> {
    let answer = ask.send().await?;
    let status = answer.status;
    Ok((status, answer.json().await.unwrap_or_default()))
}

fn expect_mismatch_in(cx: &mut CheckContext<'_>, status: u16, answer: &Value, what: &str) {
    let code = answer["error"]["code"].as_i64();
    if status == 400 && code == Some(HEADER_MISMATCH) {
        return;
    }
    let found = match (code, answer.get("result")) {
        (Some(code), _) => format!("{status} and the error {code}"),
        (None, Some(_)) => format!("{status} and a result"),
        (None, None) => status.to_string(),
    };
    cx.fault(format!(
        "{what} is answered with {found} instead of 400 and {HEADER_MISMATCH}"
    ));
}

/// Returns whether the server speaks the revision of requests that have no version header.
async fn speaks_without_header(cx: &mut CheckContext<'_>) -> Result<bool, Stop> {
    let revision = Revision::V2025_03_26;
    let params = cx.options().handshake_params(revision);
    let message =
        json!({"jsonrpc": "2.0", "id": "check-old", "method": "initialize", "params": params});
    let ask = cx.ask(Method::POST, message.to_string())?;
    let (_, answer) = status_and_message(ask).await?;
    Ok(answer["result"]["protocolVersion"] == revision.as_str())
}

async fn version(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let header = "mcp-protocol-version";
    let other = Revision::NEWEST_LEGACY.as_str();
    let ask = cx.post(&harmless(cx, "check-1"))?.header(header, other);
    let what = format!("a request of {} whose header says {other}", cx.revision());
    expect_mismatch(cx, ask, &what).await?;
    let ask = cx.post(&harmless(cx, "check-2"))?.without(header);
    let (status, answer) = status_and_message(ask).await?;
    // Such a request may be taken for one of the older revision, and refused in its way.
    if answer.get("result").is_some() || !speaks_without_header(cx).await? {
        let what = "a request without MCP-Protocol-Version";
        expect_mismatch_in(cx, status, &answer, what);
    }
    Ok(())
}

async fn method(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let ask = cx
        .post(&harmless(cx, "check-1"))?
        .header("mcp-method", "tools/list");
    let what = "a request for server/discover with `Mcp-Method: tools/list`";
    expect_mismatch(cx, ask, what).await?;
    let ask = cx.post(&harmless(cx, "check-2"))?.without("mcp-method");
    expect_mismatch(cx, ask, "a request without Mcp-Method").await
}

async fn case(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let ask = cx
        .post(&harmless(cx, "check-1"))?
        .header("mcp-method", "SERVER/DISCOVER");
    let what = "a request for server/discover with `Mcp-Method: SERVER/DISCOVER`";
    expect_mismatch(cx, ask, what).await
}

async fn name(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (method, params) = named_request(cx).ok_or_else(|| {
        Stop::Skip("the server has no resource, prompt or tool that may be asked for".into())
    })?;
    let message = cx.message("check-1", method, params);
    let ask = cx.post(&message)?.header("mcp-name", "check-another");
    let what = format!("{method} with the Mcp-Name of something else");
    expect_mismatch(cx, ask, &what).await?;
    let ask = cx.post(&message)?.without("mcp-name");
    expect_mismatch(cx, ask, &format!("{method} without Mcp-Name")).await?;
    task_name(cx).await
}

/// Checks the name that the extension for tasks puts into the header.
async fn task_name(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    if cx.survey().missing(Need::Extension(TASKS), false).is_some() {
        return Ok(());
    }
    let capabilities = json!({"extensions": {TASKS: {}}});
    let params = json!({"taskId": "check-unknown",
        "_meta": {"io.modelcontextprotocol/clientCapabilities": capabilities}});
    let message = cx.message("check-task", "tasks/get", params);
    let ask = cx.post(&message)?.header("mcp-name", "check-another");
    expect_mismatch(cx, ask, "tasks/get with the Mcp-Name of another task").await
}

/// Returns a request that names something of the server, and that may be served.
pub(super) fn named_request(cx: &CheckContext<'_>) -> Option<(&'static str, Value)> {
    let survey = cx.survey();
    if let Some(resource) = survey.resources.first() {
        return Some(("resources/read", json!({"uri": resource["uri"]})));
    }
    if let Some(prompt) = survey.prompts.first() {
        return Some(("prompts/get", json!({"name": prompt["name"]})));
    }
    let tool = survey.callable_tools().next()?;
    let arguments = survey.arguments(tool);
    Some((
        "tools/call",
        json!({"name": tool["name"], "arguments": arguments}),
    ))
}

async fn param(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let survey = cx.survey();
    let mut mirrored = survey
        .callable_tools()
        .filter_map(|tool| mirrored_string(tool).map(|found| (tool, found)));
    let (tool, (property, header)) = mirrored.next().ok_or_else(|| {
        Stop::Skip("no tool that may be called has a string with `x-mcp-header`".into())
    })?;
    let mut arguments = survey.arguments(tool);
    arguments[property] = "check".into();
    let params = json!({"name": tool["name"], "arguments": arguments});
    let message = cx.message("check-1", "tools/call", params);
    let header = format!("mcp-param-{header}");
    let what = format!("a call with the argument `{property}`");
    let ask = cx.post(&message)?;
    expect_mismatch(cx, ask, &format!("{what} and without {header}")).await?;
    let ask = cx.post(&message)?.header(&header, "another");
    expect_mismatch(cx, ask, &format!("{what} and another value in {header}")).await
}

/// Returns the only argument of a tool that a header repeats, if it is a string, and the name of the header.
pub(super) fn mirrored_string(tool: &Value) -> Option<(&str, &str)> {
    let properties = tool["inputSchema"]["properties"].as_object()?;
    let mut found = properties.iter().filter_map(|(name, schema)| {
        let header = schema["x-mcp-header"].as_str()?;
        Some((name.as_str(), header, schema))
    });
    let (name, header, schema) = found.next()?;
    let is_plain = schema["type"] == "string" && schema.get("enum").is_none();
    (is_plain && found.next().is_none()).then_some((name, header))
}

async fn legacy_headers(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (header, value) in [("mcp-session-id", "check-session"), ("last-event-id", "7")] {
        let ask = cx.post(&harmless(cx, "check-1"))?.header(header, value);
        let (status, answer) = ask.json().await?;
        if answer.get("result").is_none() {
            cx.fault(format!(
                "a modern request with `{header}: {value}` is refused with {status}"
            ));
        }
    }
    Ok(())
}
