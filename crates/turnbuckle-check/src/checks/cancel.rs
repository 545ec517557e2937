//! Cancellation.
//!
//! Specification: basic/utilities/cancellation.

use std::time::Duration;

use serde_json::{Value, json};

use crate::case::Bind;
use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::report::Level;
use crate::survey::Survey;

/// Tools that take a while, each with arguments: those of the official suite and of well-known servers.
const SLOW_TOOLS: [(&str, &str); 3] = [
    ("slow_compute", r#"{"seconds": 1}"#),
    (
        "trigger-long-running-operation",
        r#"{"duration": 2, "steps": 2}"#,
    ),
    ("longRunningOperation", r#"{"duration": 2, "steps": 2}"#),
];

/// Time in which work that was cancelled ends.
const GRACE: Duration = Duration::from_millis(500);

/// Time after that in which an answer that must not come would come.
const QUIET: Duration = Duration::from_millis(800);

/// The token of the call that is cancelled.
const TOKEN: &str = "check-cancelled";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "cancel.no-answer-after",
        Level::Should,
        "a request that was cancelled is not answered, and its work ends",
        |cx| Box::pin(no_answer_after(cx)),
    )
    .requires(&[
        "e56ffa706260",
        "291f6cbeb0b6",
        "316c14ce0604",
        "e04f1edf4bf5",
    ])
    .fix("stop the work of a request that is cancelled, and send nothing more for it"),
    Check::new(
        "cancel.unknown-ignored",
        Level::Should,
        "a cancellation of a request that is unknown or answered is ignored",
        |cx| Box::pin(unknown_ignored(cx)),
    )
    .only_over(&[Bind::Stream, Bind::Http, Bind::Sse])
    .requires(&[
        "d5a34268aa6e",
        "ee37dbe477da",
        "a4b7f49b39b8",
        "e993277c3def",
    ])
    .fix("ignore `notifications/cancelled` with an id that you do not know"),
];

/// Returns a call of a tool that takes a while; skips if there is none.
pub(super) fn slow_call(survey: &Survey) -> Result<Value, Stop> {
    let is_usable = |name: &str| {
        let tool = survey.tool(name);
        tool.is_some_and(|tool| name == "slow_compute" || survey.is_callable(tool))
    };
    let slow = SLOW_TOOLS.iter().find(|(name, _)| is_usable(name));
    let Some((tool, arguments)) = slow else {
        return Err(Stop::Skip("no tool is known to take a while".into()));
    };
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    Ok(json!({"name": tool, "arguments": arguments}))
}

async fn no_answer_after(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut params = slow_call(cx.survey())?;
    if cx.is_modern() && cx.case().binding == Bind::Http {
        return Err(Stop::Skip(
            "over HTTP the response is closed: nothing can come after that".into(),
        ));
    }
    let tool = params["name"].as_str().unwrap_or_default().to_owned();
    params["_meta"] = json!({"progressToken": TOKEN});
    let harmless = cx.harmless_request();
    let probe = cx.probe().await?;
    let id = probe.start("tools/call", params).await?;
    // The call is under way when what came after it is answered.
    probe.request(harmless, json!({})).await?;
    if probe.has_answer(id) {
        return Err(Stop::Skip(format!(
            "`{tool}` is done before it can be cancelled"
        )));
    }
    probe.cancel(id, Some("a check")).await?;
    let is_answer = |it: &Value| it.get("method").is_none() && it["id"] == id;
    let is_progress = |it: &Value| it["params"]["progressToken"] == TOKEN;
    probe.wait(GRACE).await?;
    let mut messages = probe.take_messages();
    messages.retain(is_answer);
    probe.wait(QUIET).await?;
    messages.extend(probe.take_messages());
    if messages.iter().any(is_progress) {
        cx.fault(format!(
            "a call of `{tool}` reports progress {GRACE:?} after it was cancelled and later"
        ));
    }
    if messages.iter().any(is_answer) {
        cx.fault(format!(
            "a call of `{tool}` is answered after it was cancelled"
        ));
    }
    Ok(())
}

async fn unknown_ignored(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let harmless = cx.harmless_request();
    let probe = cx.probe().await?;
    probe.take_messages();
    // Its answer and the cancellation may have crossed.
    let answered = probe.start(harmless, json!({})).await?;
    probe.response(answered).await?;
    for params in [
        json!({"requestId": answered}),
        json!({"requestId": "check-unknown", "reason": "a check"}),
        json!({"requestId": 987_654}),
        json!({"reason": "without an id"}),
    ] {
        probe.notify("notifications/cancelled", params).await?;
    }
    let answer = probe.request(harmless, json!({})).await;
    let messages = probe.take_messages();
    match answer {
        Ok(answer) if answer.get("result").is_some() => {}
        Ok(answer) => {
            let error = &answer["error"];
            cx.fault(format!(
                "after unknown cancellations the next request fails: {error}"
            ));
        }
        Err(error) => {
            cx.fault(format!(
                "after unknown cancellations the server answers no more: {error}"
            ));
        }
    }
    if let Some(answer) = messages.iter().find(|it| it.get("method").is_none()) {
        cx.fault(format!("a cancellation is answered: {answer}"));
    }
    Ok(())
}
