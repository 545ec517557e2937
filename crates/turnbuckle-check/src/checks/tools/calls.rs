//! Calls of tools: which are served, and how the others are refused.

use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;
use crate::survey::{Answered, ask_all};

/// Revisions that tell the model about arguments that are wrong, and that say how tools are named.
const SINCE_2025_11_25: &[Revision] = &[Revision::V2025_11_25, Revision::V2026_07_28];

/// A name that no tool has.
const UNKNOWN: &str = "check_no_such_tool";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "tools.unknown-tool",
        Level::Must,
        "a call of an unknown tool is refused",
        |cx| Box::pin(unknown_tool(cx)),
    )
    .needs(&[Need::Capability("tools")])
    .requires(&["bf895c33627b"])
    .fix("answer a call of a tool that does not exist with the error -32602"),
    Check::new(
        "tools.unknown-tool-32602",
        Level::Note,
        "a call of an unknown tool is a protocol error with the code -32602",
        |cx| Box::pin(unknown_tool_code(cx)),
    )
    .needs(&[Need::Capability("tools")])
    .fix("answer a call of a tool that does not exist with the error -32602 instead of a result"),
    Check::new(
        "tools.bad-arguments",
        Level::Must,
        "a call with arguments that the schema of the tool refuses is refused",
        |cx| Box::pin(bad_arguments(cx)),
    )
    .needs(&[Need::CallableTool])
    .requires(&["bf895c33627b"])
    .fix("validate the arguments with the tool's `inputSchema` before the tool runs"),
    Check::new(
        "tools.bad-arguments-is-result",
        Level::Note,
        "the refusal of bad arguments is a result that the model sees",
        |cx| Box::pin(bad_arguments_result(cx)),
    )
    .revisions(SINCE_2025_11_25)
    .needs(&[Need::CallableTool])
    .fix("answer bad arguments with a result with `isError: true` that says what is wrong: the model can then correct them"),
    Check::new(
        "tools.arguments-optional",
        Level::Note,
        "a tool without required arguments can be called without `arguments`",
        |cx| Box::pin(arguments_optional(cx)),
    )
    .needs(&[Need::CallableTool])
    .fix("read a missing `arguments` as an empty object"),
    Check::new(
        "tools.case-sensitive",
        Level::Should,
        "names of tools differ by their case",
        |cx| Box::pin(case_sensitive(cx)),
    )
    .revisions(SINCE_2025_11_25)
    .needs(&[Need::CallableTool])
    .requires(&["e563230f0f6e"])
    .fix("compare names of tools as they are written"),
];

fn call(name: &str) -> Value {
    json!({"name": name, "arguments": {}})
}

async fn unknown_tool(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let answer = cx.request("tools/call", call(UNKNOWN)).await?;
    if answer.get("error").is_none() && answer["result"]["isError"] != true {
        cx.fault(format!("a call of the tool `{UNKNOWN}` succeeds"));
    }
    Ok(())
}

async fn unknown_tool_code(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let answer = cx.request("tools/call", call(UNKNOWN)).await?;
    match answer["error"]["code"].as_i64() {
        Some(-32602) => {}
        Some(code) => cx.fault(format!(
            "a call of the tool `{UNKNOWN}` is refused with {code} instead of -32602"
        )),
        None if answer["result"]["isError"] == true => cx.fault(format!(
            "a call of the tool `{UNKNOWN}` is answered with a result (`isError`) instead of the error -32602"
        )),
        None => return Err(Stop::Skip("a call of an unknown tool is not refused".into())),
    }
    Ok(())
}

/// Returns the answers to calls with arguments that their schemas refuse.
async fn bad_calls<'r>(cx: &mut CheckContext<'r>) -> Result<&'r [(String, Answered)], Stop> {
    let survey = cx.survey();
    let calls = survey.bad_calls(cx.probe().await?).await;
    match calls.is_empty() {
        true => Err(Stop::Skip(
            "the schemas of the tools that may be called accept whatever arguments".into(),
        )),
        false => Ok(calls),
    }
}

async fn bad_arguments(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (breach, call) in bad_calls(cx).await? {
        if call.success().is_some() {
            cx.fault_in(call, format!("a call {breach}, succeeds"));
        }
    }
    Ok(())
}

async fn bad_arguments_result(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (breach, call) in bad_calls(cx).await? {
        // -32020 is about headers that the arguments are mirrored in, -32021 about the client's capabilities.
        if let Some(code) = call.answer["error"]["code"].as_i64()
            && !matches!(code, -32020 | -32021)
        {
            cx.fault_in(
                call,
                format!(
                    "a call {breach}, is refused with the error {code}, which models do not see"
                ),
            );
        }
    }
    Ok(())
}

async fn arguments_optional(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let calls = cx.calls().await?;
    let is_without = |call: &&Answered| {
        let required = call.definition["inputSchema"]["required"].as_array();
        call.success().is_some() && required.is_none_or(Vec::is_empty)
    };
    let requests: Vec<_> = calls
        .iter()
        .filter(is_without)
        .take(4)
        .map(|call| (call.definition.clone(), json!({"name": call.item()})))
        .collect();
    if requests.is_empty() {
        return Err(Stop::Skip(
            "each tool that may be called requires arguments".into(),
        ));
    }
    for call in ask_all(cx.probe().await?, "tools/call", requests).await {
        if call.answer.get("error").is_some() || call.answer["result"]["isError"] == true {
            cx.fault_in(
                &call,
                "a call without `arguments` fails, one with an empty object succeeds",
            );
        }
    }
    Ok(())
}

async fn case_sensitive(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let survey = cx.survey();
    let changed = |name: &str| {
        let is_lower = name.chars().any(|char| char.is_ascii_lowercase());
        let other = match is_lower {
            true => name.to_ascii_uppercase(),
            false => name.to_ascii_lowercase(),
        };
        (other != name && survey.tool(&other).is_none()).then_some(other)
    };
    let calls = cx.calls().await?;
    let successful = calls.iter().filter(|call| call.success().is_some());
    let mut renamed = successful.filter_map(|call| Some((call, changed(call.item())?)));
    let Some((call, name)) = renamed.next() else {
        return Err(Stop::Skip(
            "no tool that may be called succeeds and has a letter in its name".into(),
        ));
    };
    let mut params = call.params.clone();
    params["name"] = name.as_str().into();
    let answer = cx.request("tools/call", params).await?;
    if answer.get("error").is_none() && answer["result"]["isError"] != true {
        cx.fault_at(
            call.item(),
            format!("a call of the tool `{name}`, which is not listed, succeeds"),
        );
    }
    Ok(())
}
