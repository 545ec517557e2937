//! Answers of the client: those that are wrong, declined or too many, and capabilities that it lacks.
//!
//! Specification: client/elicitation; basic/patterns/mrtr and basic/index (2026-07-28).

use serde_json::{Map, Value, json};
use turnbuckle_wire::revision::Revision;

use super::inputs::{ELICITATION, accepted, call, required};
use super::requests::all_capabilities;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::Probe;
use crate::report::Level;

/// The tool of the official suite that asks the user.
const LEGACY_ELICITATION: &str = "test_elicitation";

/// The tool of the official suite that needs `sampling`.
const NEEDING: &str = "test_missing_capability";

/// The error for a request without a capability that it needs.
const MISSING_CAPABILITY: i64 = -32021;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "ask.surplus-answer-ignored",
        Level::Should,
        "an answer that was not asked for is ignored",
        |cx| Box::pin(surplus_answer(cx)),
    )
    .modern()
    .needs(&[Need::Fixture(ELICITATION)])
    .requires(&["22d3c1584a3b"])
    .fix("take the answers that you asked for, and leave the others alone"),
    Check::new(
        "ask.malformed-answers-refused",
        Level::Should,
        "answers that are no object are refused with an error",
        |cx| Box::pin(malformed_answers(cx)),
    )
    .modern()
    .needs(&[Need::Fixture(ELICITATION)])
    .requires(&["8e89aa4ca509", "2e3e18011b49"])
    .fix("check the type of `inputResponses`, and answer -32602 if it is wrong"),
    Check::new(
        "ask.declined-handled",
        Level::Must,
        "a call whose question is declined or cancelled is answered",
        |cx| Box::pin(check_declined_question(cx)),
    )
    .modern()
    .needs(&[Need::Fixture(ELICITATION)])
    .requires(&["43d41cce57a3"])
    .fix("handle the actions `decline` and `cancel` as well as `accept`"),
    Check::new(
        "ask.answers-validated",
        Level::Should,
        "an answer that the form does not allow is not taken",
        |cx| Box::pin(wrong_form(cx)),
    )
    .modern()
    .needs(&[Need::Fixture(ELICITATION)])
    .requires(&["557a9929c819"])
    .fix("validate the content of an answer with the schema that you sent"),
    Check::new(
        "ask.legacy-answers-validated",
        Level::Should,
        "an answer that the form does not allow is not taken",
        |cx| Box::pin(wrong_legacy_form(cx)),
    )
    .revisions(&[Revision::V2025_06_18, Revision::V2025_11_25])
    .needs(&[Need::Fixture(LEGACY_ELICITATION)])
    .requires(&["30eacaf58089", "557a9929c819"])
    .fix("validate the content of an answer with the schema that you sent"),
    Check::new(
        "ask.missing-capability-32021",
        Level::Must,
        "a request that needs what the client did not declare is refused with -32021",
        |cx| Box::pin(missing_capability(cx)),
    )
    .modern()
    .needs(&[Need::Fixture(NEEDING)])
    .requires(&["e7bec066c5f6"])
    .fix("answer -32021, with what is missing in `data.requiredCapabilities`"),
    Check::new(
        "ask.roots-change-survived",
        Level::Should,
        "a change of the roots leaves the server alive",
        |cx| Box::pin(roots_change(cx)),
    )
    .legacy()
    .once()
    .requires(&["a77fcdec4443"])
    .fix("take `notifications/roots/list_changed` at any time"),
];

/// Calls the tool again with answers, and with the state that it gave.
async fn retry(cx: &mut CheckContext<'_>, asked: &Value, answers: Value) -> Result<Value, Stop> {
    let mut retry = json!({"inputResponses": answers});
    if let Some(state) = asked.get("requestState") {
        retry["requestState"] = state.clone();
    }
    call(cx, ELICITATION, all_capabilities(), retry).await
}

/// Returns whether a call has succeeded.
fn is_done(answer: &Value) -> bool {
    answer["result"]["resultType"] == "complete" && answer["result"]["isError"] != true
}

/// Skips unless the answers that the tool asks for complete its call.
async fn expect_done(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let asked = required(cx, ELICITATION).await?;
    let answers = accepted(&asked);
    match is_done(&retry(cx, &asked, answers).await?) {
        true => Ok(()),
        false => Err(Stop::Skip(format!(
            "the answers that `{ELICITATION}` asks for do not complete its call"
        ))),
    }
}

/// Returns what came of a call, for a sentence.
fn outcome(answer: &Value) -> String {
    match answer.get("error") {
        Some(error) => format!("fails: {error}"),
        None => format!(
            "has a result of the type {}",
            answer["result"]["resultType"]
        ),
    }
}

async fn surplus_answer(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    expect_done(cx).await?;
    let asked = required(cx, ELICITATION).await?;
    let mut answers = accepted(&asked);
    answers["check-surplus"] = json!({"action": "cancel"});
    let answer = retry(cx, &asked, answers).await?;
    if !is_done(&answer) {
        let found = outcome(&answer);
        cx.fault(format!(
            "a retry with one answer more than was asked for {found}"
        ));
    }
    Ok(())
}

async fn malformed_answers(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let asked = required(cx, ELICITATION).await?;
    for answers in [json!("check"), json!(["check"])] {
        let kind = if answers.is_array() {
            "an array"
        } else {
            "a text"
        };
        let answer = retry(cx, &asked, answers).await?;
        if answer.get("error").is_none() {
            let found = outcome(&answer);
            cx.fault(format!("a retry whose `inputResponses` are {kind} {found}"));
        }
    }
    Ok(())
}

async fn check_declined_question(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for action in ["decline", "cancel"] {
        let asked = required(cx, ELICITATION).await?;
        let requests = asked["inputRequests"].as_object().into_iter().flatten();
        let answers: Map<_, _> = requests
            .map(|(key, _)| (key.clone(), json!({"action": action})))
            .collect();
        let answer = retry(cx, &asked, answers.into()).await?;
        if let Some(error) = answer.get("error") {
            cx.fault(format!(
                "a call whose question is answered with `{action}` fails: {error}"
            ));
        }
    }
    Ok(())
}

/// Returns content in which each required member of a form has a wrong type.
fn wrong_content(schema: &Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten();
    let wrong = required.filter_map(Value::as_str).map(|name| {
        let is_text = schema["properties"][name]["type"] == "string";
        let value = if is_text { json!(5) } else { json!("check") };
        (name.to_owned(), value)
    });
    Value::Object(wrong.collect())
}

fn no_required_field() -> Stop {
    Stop::Skip("the form has no required field".into())
}

async fn wrong_form(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let asked = required(cx, ELICITATION).await?;
    let requests = asked["inputRequests"].as_object().into_iter().flatten();
    let answers: Map<_, _> = requests
        .map(|(key, request)| {
            let content = wrong_content(&request["params"]["requestedSchema"]);
            (key.clone(), json!({"action": "accept", "content": content}))
        })
        .collect();
    if answers.values().all(|it| it["content"] == json!({})) {
        return Err(no_required_field());
    }
    if is_done(&retry(cx, &asked, answers.into()).await?) {
        cx.fault("an answer whose fields have other types than the form is taken");
    }
    Ok(())
}

/// Calls the tool that asks, and returns the connection, the id of the call, and the question.
async fn legacy_question(cx: &mut CheckContext<'_>) -> Result<(Probe, i64, Value), Stop> {
    let options = cx.options().capabilities(json!({"elicitation": {}}));
    let mut probe = cx.fresh(options).await?;
    let params = json!({"name": LEGACY_ELICITATION, "arguments": {"message": "check"}});
    let id = probe.start("tools/call", params).await?;
    loop {
        let message = probe.next_or_response(id).await?;
        if message["method"] == "elicitation/create" {
            return Ok((probe, id, message));
        }
        if message.get("method").is_none() {
            return Err(Stop::Skip(format!("`{LEGACY_ELICITATION}` asks nothing")));
        }
    }
}

async fn wrong_legacy_form(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (mut probe, id, question) = legacy_question(cx).await?;
    let content = wrong_content(&question["params"]["requestedSchema"]);
    if content == json!({}) {
        return Err(no_required_field());
    }
    let answer = json!({"action": "accept", "content": content});
    probe.answer(&question["id"], answer).await?;
    let answer = probe.response(id).await?;
    if answer["result"].is_object() && answer["result"]["isError"] != true {
        cx.fault("an answer whose fields have other types than the form is taken");
    }
    Ok(())
}

async fn missing_capability(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let answer = call(cx, NEEDING, json!({}), json!({})).await?;
    let error = &answer["error"];
    if error["code"] != MISSING_CAPABILITY {
        let found = outcome(&answer);
        cx.fault(format!(
            "a call of `{NEEDING}` by a client that declares nothing {found}, instead of the error {MISSING_CAPABILITY}"
        ));
    } else if error["data"]["requiredCapabilities"]
        .get("sampling")
        .is_none()
    {
        cx.fault("`data.requiredCapabilities` of the refusal does not name `sampling`");
    }
    Ok(())
}

async fn roots_change(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let capabilities = json!({"roots": {"listChanged": true}});
    let options = cx.options().capabilities(capabilities);
    let mut probe = cx.fresh(options).await?;
    for _ in 0..2 {
        probe
            .notify("notifications/roots/list_changed", json!({}))
            .await?;
        let id = probe.start("ping", json!({})).await?;
        loop {
            let message = probe.next_or_response(id).await?;
            if message["method"] == "roots/list" {
                probe.answer(&message["id"], json!({"roots": []})).await?;
            } else if message.get("method").is_none() {
                break;
            }
        }
    }
    Ok(())
}
