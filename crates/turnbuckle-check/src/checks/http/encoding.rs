//! Encoded values in the headers of modern requests, and headers of arguments that are not there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::headers::{HEADER_MISMATCH, expect_mismatch, mirrored_string, named_request};
use crate::case::Bind;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::Ask;
use crate::report::Level;

/// A value that a header cannot carry as it is.
const UNSAFE: &str = "grüße";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "http.header-encoded",
        Level::Must,
        "a header with an encoded value is decoded before it is compared",
        |cx| Box::pin(check_encoded(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .requires(&[
        "554ca4d37c4c",
        "6fc43117ba0a",
        "a9c9276f7a0b",
        "17d0800d09d4",
        "71317f251119",
    ])
    .fix("decode what stands between `=?base64?` and `?=`, then compare it with the message"),
    Check::new(
        "http.header-bad-encoding",
        Level::Must,
        "a header whose value is encoded in another way, or not at all, is refused with 400 and -32020",
        |cx| Box::pin(badly_encoded(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .requires(&["5055c9e8d75b", "4bb1ff0f3d79"])
    .fix("take the marks `=?base64?` and `?=` in lower case alone, and refuse bytes beyond ASCII"),
    Check::new(
        "http.header-param-absent",
        Level::Must,
        "an argument that is missing or null needs no header",
        |cx| Box::pin(absent(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .needs(&[Need::CallableTool])
    .requires(&["068dadbe842e", "e722e6c475d1"])
    .fix("expect a Mcp-Param header only for an argument that has a value"),
    Check::new(
        "http.header-integer",
        Level::Should,
        "an integer in a header is compared as a number",
        |cx| Box::pin(integer(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .needs(&[Need::CallableTool])
    .requires(&["da631dba239b"])
    .fix("compare 42.0 in a header and 42 in the message as numbers"),
    Check::new(
        "http.header-safe-integers",
        Level::Note,
        "an integer in a header beyond 2^53 - 1 is refused",
        |cx| Box::pin(safe_integers(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .needs(&[Need::CallableTool])
    .requires(&["56d8a532bac8"])
    .fix("refuse mirrored integers that a double does not hold exactly"),
];

fn encode(value: &str) -> String {
    format!("=?base64?{}?=", STANDARD.encode(value))
}

/// Returns a call of a tool with one mirrored argument, which is a string: the tool, the arguments
/// without it, its name and its header.
fn mirrored_call(cx: &CheckContext<'_>) -> Option<(Value, Value, String, String)> {
    let survey = cx.survey();
    let mut tools = survey.callable_tools();
    let found = tools.find_map(|tool| mirrored_string(tool).map(|found| (tool, found)));
    let (tool, (property, header)) = found?;
    let mut arguments = survey.arguments(tool);
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.remove(property);
    }
    let header = format!("mcp-param-{header}");
    Some((tool["name"].clone(), arguments, property.into(), header))
}

fn no_mirrored_tool() -> Stop {
    Stop::Skip("no tool that may be called has a string with `x-mcp-header`".into())
}

/// Sends a request and expects that its headers are not what it is refused for.
async fn expect_match(cx: &mut CheckContext<'_>, ask: Ask, what: &str) -> Result<(), Stop> {
    let (status, answer) = ask.json().await?;
    if answer["error"]["code"] == HEADER_MISMATCH {
        cx.fault(format!(
            "{what} is refused with {status} and {HEADER_MISMATCH}"
        ));
    }
    Ok(())
}

/// Returns the name or URI that a request names something by.
fn target_name(params: &Value) -> String {
    let name = [&params["name"], &params["uri"]];
    let name = name.into_iter().find_map(Value::as_str);
    name.unwrap_or_default().to_owned()
}

async fn check_encoded(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let request = named_request(cx);
    if let Some((method, params)) = &request {
        let name = encode(&target_name(params));
        let message = cx.message("check-encoded", method, params.clone());
        let ask = cx.post(&message)?.header("mcp-name", name);
        expect_match(cx, ask, &format!("{method} with an encoded Mcp-Name")).await?;
    }
    let call = mirrored_call(cx);
    if let Some((name, mut arguments, property, header)) = call.clone() {
        arguments[&property] = UNSAFE.into();
        let params = json!({"name": name, "arguments": arguments});
        let message = cx.message("check-encoded", "tools/call", params);
        let ask = cx.post(&message)?.header(&header, encode(UNSAFE));
        expect_match(cx, ask, &format!("a call with an encoded {header}")).await?;
    }
    match request.is_none() && call.is_none() {
        true => Err(Stop::Skip(
            "the server has no resource, prompt or tool that may be asked for".into(),
        )),
        false => Ok(()),
    }
}

async fn badly_encoded(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let request = named_request(cx);
    if let Some((method, params)) = &request {
        let name = encode(&target_name(params)).replace("base64", "BASE64");
        let message = cx.message("check-encoded", method, params.clone());
        let ask = cx.post(&message)?.header("mcp-name", name);
        let what = format!("{method} with a Mcp-Name that is marked by `=?BASE64?`");
        expect_mismatch(cx, ask, &what).await?;
    }
    let call = mirrored_call(cx);
    if let Some((name, mut arguments, property, header)) = call.clone() {
        arguments[&property] = UNSAFE.into();
        let params = json!({"name": name, "arguments": arguments});
        let message = cx.message("check-encoded", "tools/call", params);
        let ask = cx.post(&message)?.header(&header, UNSAFE);
        let what = format!("a call with `{UNSAFE}` in {header}, not encoded,");
        expect_mismatch(cx, ask, &what).await?;
    }
    match request.is_none() && call.is_none() {
        true => Err(Stop::Skip(
            "the server has no resource, prompt or tool that may be asked for".into(),
        )),
        false => Ok(()),
    }
}

async fn absent(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (name, arguments, property, header) = mirrored_call(cx).ok_or_else(no_mirrored_tool)?;
    let mut with_null = arguments.clone();
    with_null[&property] = Value::Null;
    for (arguments, what) in [(arguments, "without"), (with_null, "with null for")] {
        let params = json!({"name": name, "arguments": arguments});
        let message = cx.message("check-absent", "tools/call", params);
        let ask = cx.post(&message)?;
        let what = format!("a call {what} the argument `{property}`, and without {header},");
        expect_match(cx, ask, &what).await?;
    }
    Ok(())
}

/// Returns the mirrored arguments of a tool: name, header and schema of each.
fn mirrored_arguments(tool: &Value) -> Vec<(&str, &str, &Value)> {
    let properties = tool["inputSchema"]["properties"].as_object();
    let mirrored = properties
        .into_iter()
        .flatten()
        .filter_map(|(name, schema)| {
            Some((name.as_str(), schema["x-mcp-header"].as_str()?, schema))
        });
    mirrored.collect()
}

/// Returns a call of a tool with a mirrored integer, which has this value if one is given, and this text
/// behind it in its header.
fn integer_call(cx: &CheckContext<'_>, number: Option<i64>, suffix: &str) -> Result<Ask, Stop> {
    let survey = cx.survey();
    let is_integer = |schema: &Value| schema["type"] == "integer";
    let mut tools = survey.callable_tools();
    let tool = tools.find(|tool| {
        mirrored_arguments(tool)
            .iter()
            .any(|(.., schema)| is_integer(schema))
    });
    let tool = tool.ok_or_else(|| {
        Stop::Skip("no tool that may be called has an integer with `x-mcp-header`".into())
    })?;
    let mut arguments = survey.arguments(tool);
    let mut headers = Vec::new();
    for (property, header, schema) in mirrored_arguments(tool) {
        let header = format!("mcp-param-{header}");
        match number {
            Some(number) if is_integer(schema) => arguments[property] = number.into(),
            _ if arguments[property].is_null() => {
                arguments[property] = crate::survey::sample(schema);
            }
            _ => {}
        }
        let value = match &arguments[property] {
            Value::String(text) => encode(text),
            number if is_integer(schema) => format!("{number}{suffix}"),
            other => other.to_string(),
        };
        headers.push((header, value));
    }
    let params = json!({"name": tool["name"], "arguments": arguments});
    let message = cx.message("check-integer", "tools/call", params);
    let mut ask = cx.post(&message)?;
    for (header, value) in headers {
        ask = ask.header(&header, value);
    }
    Ok(ask)
}

async fn integer(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let ask = integer_call(cx, None, ".0")?;
    expect_match(cx, ask, "a call with `.0` behind the integer in its header").await
}

async fn safe_integers(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let number = (1 << 53) + 1;
    let (_, answer) = integer_call(cx, Some(number), "")?.json().await?;
    if answer.get("result").is_some() && answer["result"]["isError"] != true {
        cx.fault(format!("a call with {number} in a header is served"));
    }
    Ok(())
}
