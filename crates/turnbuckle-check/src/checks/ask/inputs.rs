//! Rounds of input of the modern era: `input_required`, `inputResponses` and `requestState`.
//!
//! Specification: basic/patterns/mrtr (2026-07-28).

use serde_json::{Value, json};

use super::requests::all_capabilities;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

pub(super) const ELICITATION: &str = "test_input_required_result_elicitation";

/// The tool of the official suite whose state counts.
pub(crate) const STATE: &str = "test_input_required_result_request_state";

const CAPABILITIES: &str = "test_input_required_result_capabilities";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "ask.input-required-shape",
        Level::Must,
        "a result that needs input has requests or a state",
        |cx| Box::pin(shape(cx)),
    )
    .modern()
    .needs(&[Need::Fixture(ELICITATION)])
    .requires(&["e0ddc6737b70", "04fc86c478df", "4f182538b1ca"])
    .fix("put the questions into `inputRequests`, or give a `requestState` to come back with"),
    Check::new(
        "ask.capabilities-per-request",
        Level::Must,
        "a request is asked only for what it declares itself",
        |cx| Box::pin(per_request(cx)),
    )
    .modern()
    .needs(&[Need::Fixture(CAPABILITIES)])
    .requires(&[
        "c257186b73e7",
        "4d7c1880ff7f",
        "7063c41e3cf9",
        "0705efc7d780",
    ])
    .fix("look at the capabilities in the envelope of the request, not at earlier requests"),
    Check::new(
        "ask.state-tampered-refused",
        Level::Must,
        "a request state that was changed is refused",
        |cx| Box::pin(change_state(cx)),
    )
    .modern()
    .needs(&[Need::Fixture(STATE)])
    .requires(&["121724366e67", "348ddb154e8f", "027fd5898b01"])
    .fix("seal the state, verify it on every retry, and refuse what does not verify"),
    Check::new(
        "ask.state-other-arguments",
        Level::Should,
        "a request state is refused with another tool or other arguments",
        |cx| Box::pin(other_request(cx)),
    )
    .modern()
    .needs(&[Need::Fixture(STATE), Need::Fixture(ELICITATION)])
    .requires(&["07ce33f9b422"])
    .fix("bind the state to the method, the target and the arguments of its request"),
    Check::new(
        "ask.missing-answer-asked-again",
        Level::Should,
        "an answer that is missing is asked for again",
        |cx| Box::pin(missing_answer(cx)),
    )
    .modern()
    .needs(&[Need::Fixture(ELICITATION)])
    .requires(&["e740ea205891"])
    .fix("answer `input_required` with what is still missing"),
];

/// Calls a tool with capabilities of the client, and returns the answer.
pub(super) async fn call(
    cx: &mut CheckContext<'_>,
    tool: &str,
    capabilities: Value,
    retry: Value,
) -> Result<Value, Stop> {
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
    let mut params = json!({"name": tool, "arguments": {}, "_meta": meta});
    if let (Some(params), Value::Object(retry)) = (params.as_object_mut(), retry) {
        params.extend(retry);
    }
    cx.request("tools/call", params).await
}

/// Returns the result of a call that needs input; skips if it needs none.
pub(crate) async fn required(cx: &mut CheckContext<'_>, tool: &str) -> Result<Value, Stop> {
    let mut answer = call(cx, tool, all_capabilities(), json!({})).await?;
    match answer["result"]["resultType"].as_str() {
        Some("input_required") => Ok(answer["result"].take()),
        _ => Err(Stop::Skip(format!("`{tool}` asks for nothing"))),
    }
}

/// Returns answers that accept every form of a result that needs input.
pub(crate) fn accepted(result: &Value) -> Value {
    let requests = result["inputRequests"].as_object().into_iter().flatten();
    let answer = |(key, request): (&String, &Value)| {
        let answer = match request["method"].as_str() {
            Some("elicitation/create") => {
                let content = crate::survey::sample(&request["params"]["requestedSchema"]);
                json!({"action": "accept", "content": content})
            }
            Some("roots/list") => json!({"roots": []}),
            _ => json!({"role": "assistant", "model": "check",
                "content": {"type": "text", "text": "check"}}),
        };
        (key.clone(), answer)
    };
    Value::Object(requests.map(answer).collect())
}

async fn shape(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let result = required(cx, ELICITATION).await?;
    let requests = result["inputRequests"].as_object();
    if requests.is_none_or(serde_json::Map::is_empty) && !result["requestState"].is_string() {
        cx.fault("the result has neither `inputRequests` nor `requestState`");
    }
    for (key, request) in requests.into_iter().flatten() {
        let method = request["method"].as_str().unwrap_or_default();
        let known = ["elicitation/create", "sampling/createMessage", "roots/list"];
        if !known.contains(&method) {
            cx.fault_at(key, format!("the input is asked for by `{method}`"));
        }
    }
    Ok(())
}

async fn per_request(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    // First with everything, so that a server that remembers has something to remember.
    call(cx, CAPABILITIES, all_capabilities(), json!({})).await?;
    let answer = call(cx, CAPABILITIES, json!({"sampling": {}}), json!({})).await?;
    let requests = answer["result"]["inputRequests"].as_object();
    for (key, request) in requests.into_iter().flatten() {
        let method = &request["method"];
        if method != "sampling/createMessage" {
            let method = method.clone();
            cx.fault_at(
                key,
                format!("a request that declares sampling alone is asked for {method}"),
            );
        }
    }
    Ok(())
}

async fn change_state(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let result = required(cx, STATE).await?;
    let Some(state) = result["requestState"].as_str() else {
        return Err(Stop::Skip(format!("`{STATE}` gives no state")));
    };
    for changed in [format!("{state}-changed"), with_other_end(state)] {
        let retry = json!({"requestState": changed, "inputResponses": accepted(&result)});
        let answer = call(cx, STATE, all_capabilities(), retry).await?;
        if answer.get("error").is_none() {
            cx.fault("a state that was changed is taken");
        }
    }
    Ok(())
}

/// Returns a state of the same length with another character near its end. The last ones stay: they may
/// carry no bits.
fn with_other_end(state: &str) -> String {
    let mut chars: Vec<char> = state.chars().collect();
    let at = chars.len().saturating_sub(6);
    if let Some(char) = chars.get_mut(at) {
        *char = if *char == 'A' { 'B' } else { 'A' };
    }
    chars.into_iter().collect()
}

async fn other_request(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let result = required(cx, STATE).await?;
    let Some(state) = result["requestState"].as_str() else {
        return Err(Stop::Skip(format!("`{STATE}` gives no state")));
    };
    let retry = json!({"requestState": state, "inputResponses": accepted(&result)});
    let answer = call(cx, ELICITATION, all_capabilities(), retry).await?;
    if answer.get("error").is_none() {
        cx.fault(format!(
            "the state of a call of `{STATE}` is taken for a call of `{ELICITATION}`"
        ));
    }
    // Refused for its state or for its arguments: what counts is that it is not complete.
    let retry = json!({
        "arguments": {"check": "another argument"},
        "requestState": state,
        "inputResponses": accepted(&result),
    });
    let answer = call(cx, STATE, all_capabilities(), retry).await?;
    let is_complete = answer["result"]["resultType"] == "complete";
    if is_complete && answer["result"]["isError"] != true {
        cx.fault(format!(
            "the state of a call of `{STATE}` is taken with other arguments"
        ));
    }
    other_arguments(cx).await
}

/// Comes back to tools that have an argument with another one.
async fn other_arguments(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (tool, argument) in [("test_elicitation", "message"), ("test_sampling", "prompt")] {
        let survey = cx.survey();
        if !survey.tool(tool).is_some_and(|it| survey.is_callable(it)) {
            continue;
        }
        let with = |text: &str| json!({"arguments": {argument: text}});
        let answer = call(cx, tool, all_capabilities(), with("check")).await?;
        let result = &answer["result"];
        let Some(state) = result["requestState"].as_str() else {
            continue;
        };
        let mut retry = with("another");
        retry["requestState"] = state.into();
        retry["inputResponses"] = accepted(result);
        let answer = call(cx, tool, all_capabilities(), retry).await?;
        if answer["result"]["resultType"] == "complete" && answer["result"]["isError"] != true {
            cx.fault_at(tool, "the state of a call is taken with other arguments");
        }
    }
    Ok(())
}

async fn missing_answer(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let result = required(cx, ELICITATION).await?;
    let mut retry = json!({"inputResponses": {"check-unknown-key": {"action": "cancel"}}});
    if let Some(state) = result.get("requestState") {
        retry["requestState"] = state.clone();
    }
    let answer = call(cx, ELICITATION, all_capabilities(), retry).await?;
    if answer["result"]["resultType"] != "input_required" {
        let found = match answer.get("error") {
            Some(error) => format!("fails: {error}"),
            None => "is complete".to_owned(),
        };
        cx.fault(format!(
            "a retry without the answer that was asked for {found}"
        ));
    }
    Ok(())
}
