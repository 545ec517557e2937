//! Tasks of 2025-11-25: which tools may be tasks, for how long, and how they are cancelled and named.
//!
//! Specification: basic/utilities/tasks (2025-11-25).

use std::time::Duration;

use serde_json::{Value, json};

use super::legacy::{INVALID_PARAMS, NEEDS, RELATED_TASK, REVISION, start, start_for};
use crate::case::Bind;
use crate::check::{Check, Need, Stop};
use crate::checks::http::Session;
use crate::context::CheckContext;
use crate::report::Level;
use crate::survey::Survey;

/// The error for a method that is not there.
const METHOD_NOT_FOUND: i64 = -32601;

/// The tool of the official suite whose calls fail.
const FAILING: &str = "failing_job";

/// The tool of the official suite that takes as long as it is told.
const SLOW: &str = "slow_compute";

/// Tools whose plain calls are tried.
const MAX_PLAIN: usize = 6;

/// A time to live of ten years.
const LONG_TTL_MS: u64 = 315_360_000_000;

/// Time after which a task of one second has ended.
const WORK: Duration = Duration::from_millis(1200);

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "tasks.legacy-cancel",
        Level::Must,
        "a task that is cancelled says so at once, and stays so",
        |cx| Box::pin(cancelled(cx)),
    )
    .revisions(REVISION)
    .once()
    .needs(&[Need::Capability("tasks.cancel"), Need::Capability("tasks.requests.tools.call"), Need::CallableTool])
    .requires(&["cd13b7c0909d", "7f5bd0d7d094"])
    .fix("set the status to `cancelled` before you answer tasks/cancel, and drop what the work returns later"),
    Check::new(
        "tasks.legacy-parameter-counts",
        Level::Must,
        "a request about a task is about the task of its parameter, whatever its `_meta` says",
        |cx| Box::pin(parameter_counts(cx)),
    )
    .revisions(REVISION)
    .needs(NEEDS)
    .requires(&["1831f08b7d84", "a1f472810820"])
    .fix("take the id of a task from `taskId` alone in tasks/get, tasks/result and tasks/cancel"),
    Check::new(
        "tasks.legacy-required-32601",
        Level::Must,
        "a plain call of a tool that must be a task is refused with -32601, and of another tool it is not",
        |cx| Box::pin(required_tool(cx)),
    )
    .revisions(REVISION)
    .needs(NEEDS)
    .requires(&["6a9588a089d1"])
    .fix("answer -32601 to a call without `task` where `execution.taskSupport` is \"required\", and only there"),
    Check::new(
        "tasks.legacy-forbidden-32601",
        Level::Should,
        "a call as a task of a tool that cannot be one is refused with -32601",
        |cx| Box::pin(forbidden_tool(cx)),
    )
    .revisions(REVISION)
    .needs(NEEDS)
    .requires(&["9a98665fa764"])
    .fix("answer -32601 to a call with `task` where `execution.taskSupport` is missing or \"forbidden\""),
    Check::new(
        "tasks.legacy-metadata-ignored",
        Level::Must,
        "a server without tasks serves a call with task metadata as any other",
        |cx| Box::pin(metadata_ignored(cx)),
    )
    .revisions(REVISION)
    .needs(&[Need::Undeclared("tasks"), Need::CallableTool])
    .requires(&["d408445369e7"])
    .fix("ignore `task` in the parameters of a call"),
    Check::new(
        "tasks.legacy-ttl-limited",
        Level::Should,
        "a task is not kept for ten years because a client asks for it",
        |cx| Box::pin(ttl_limited(cx)),
    )
    .revisions(REVISION)
    .once()
    .needs(NEEDS)
    .requires(&["69c83e361e27"])
    .fix("bound the time to live, and answer with the one that you chose"),
    Check::new(
        "tasks.legacy-error-kept",
        Level::Must,
        "tasks/result of a task that failed is the error that the call would have had",
        |cx| Box::pin(error_kept(cx)),
    )
    .revisions(REVISION)
    .needs(NEEDS)
    .requires(&["857d8469c054"])
    .fix("keep the error of the call, and answer tasks/result with it"),
    Check::new(
        "tasks.legacy-error-failed",
        Level::Should,
        "a task has failed if the result of its tool is an error",
        |cx| Box::pin(error_failed(cx)),
    )
    .revisions(REVISION)
    .needs(&[Need::Capability("tasks.requests.tools.call"), Need::Fixture(FAILING)])
    .fix("set the status to `failed` when the result has `isError: true`"),
    Check::new(
        "tasks.legacy-failure-explained",
        Level::Should,
        "a task that failed says why",
        |cx| Box::pin(failure_explained(cx)),
    )
    .revisions(REVISION)
    .needs(NEEDS)
    .requires(&["188f2dd3cede"])
    .fix("set `statusMessage` of a task that fails"),
    Check::new(
        "tasks.legacy-bad-cursor-32602",
        Level::Must,
        "tasks/list with a cursor that the server did not give is refused with -32602",
        |cx| Box::pin(bad_cursor(cx)),
    )
    .revisions(REVISION)
    .needs(&[Need::Capability("tasks.list")])
    .requires(&["8f67f4302c19"])
    .fix("answer a cursor that you cannot read with the error -32602 (Invalid params)"),
    Check::new(
        "tasks.legacy-get-no-stream",
        Level::Should,
        "tasks/get is answered with JSON, not with a stream",
        |cx| Box::pin(no_stream(cx)),
    )
    .revisions(REVISION)
    .only_over(&[Bind::Http])
    .needs(&[Need::Capability("tasks")])
    .requires(&["72fd8b010663"])
    .fix("answer tasks/get with `Content-Type: application/json`"),
];

async fn cancelled(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options()).await?;
    let task = start(cx, &mut probe, 1).await?;
    let id = json!({"taskId": task["taskId"]});
    let answer = probe.request("tasks/cancel", id.clone()).await?;
    if answer["error"]["code"] == INVALID_PARAMS {
        return Err(Stop::Skip(
            "the task has ended before it can be cancelled".into(),
        ));
    }
    let status = &answer["result"]["status"];
    if status != "cancelled" {
        cx.fault(format!(
            "tasks/cancel is answered with the status {status} instead of \"cancelled\""
        ));
        return Ok(());
    }
    for wait in [Duration::ZERO, WORK] {
        probe.wait(wait).await?;
        // A server may forget a cancelled task.
        let state = probe.request("tasks/get", id.clone()).await?;
        let status = &state["result"]["status"];
        if state["result"].is_object() && status != "cancelled" {
            cx.fault(format!(
                "a task that was cancelled has the status {status} later"
            ));
            return Ok(());
        }
    }
    Ok(())
}

async fn parameter_counts(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options()).await?;
    let task = start(cx, &mut probe, 0).await?;
    let other = start(cx, &mut probe, 0).await?;
    let meta = json!({RELATED_TASK: {"taskId": other["taskId"]}});
    let params = json!({"taskId": task["taskId"], "_meta": meta});
    let answer = probe.request("tasks/get", params).await?;
    let found = &answer["result"]["taskId"];
    if *found != task["taskId"] {
        cx.fault(format!(
            "tasks/get of {}, with another task in `_meta`, is answered with {found}",
            task["taskId"]
        ));
    }
    Ok(())
}

/// Returns a call of a tool that may be called and supports tasks in one of these ways.
fn call_of(cx: &CheckContext<'_>, support: &[&str]) -> Result<Value, Stop> {
    let survey = cx.survey();
    let supports = |tool: &&Value| {
        let found = tool["execution"]["taskSupport"].as_str();
        support.contains(&found.unwrap_or("forbidden"))
    };
    let tool = survey.callable_tools().find(supports).ok_or_else(|| {
        Stop::Skip(format!(
            "no tool that may be called has the `execution.taskSupport` {support:?}"
        ))
    })?;
    Ok(json!({"name": tool["name"], "arguments": survey.arguments(tool)}))
}

/// Reports a fault unless a call is refused with -32601.
fn expect_not_found(cx: &mut CheckContext<'_>, answer: &Value, what: &str) {
    let code = answer["error"]["code"].as_i64();
    if code != Some(METHOD_NOT_FOUND) {
        let found = code.map_or_else(|| "a result".to_owned(), |code| code.to_string());
        cx.fault(format!(
            "{what} is answered with {found} instead of {METHOD_NOT_FOUND}"
        ));
    }
}

/// Returns calls of tools that may be called and may be tasks, each with what its tool says about that.
fn calls_with_tasks(survey: &Survey) -> Vec<(Value, &str)> {
    let call = |tool: &'_ Value| {
        let arguments = match tool["name"] == SLOW {
            true => json!({"seconds": 0, "label": "check"}),
            false => survey.arguments(tool),
        };
        json!({"name": tool["name"], "arguments": arguments})
    };
    let calls = survey.callable_tools().filter_map(|tool| {
        let support = tool["execution"]["taskSupport"].as_str()?;
        matches!(support, "required" | "optional").then(|| (call(tool), support))
    });
    calls.take(MAX_PLAIN).collect()
}

async fn required_tool(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let survey = cx.survey();
    let calls = calls_with_tasks(survey);
    if calls.is_empty() {
        return Err(Stop::Skip(
            "no tool that may be called has `execution.taskSupport`".into(),
        ));
    }
    for (call, support) in calls {
        let name = &call["name"];
        let answer = cx.request("tools/call", call.clone()).await?;
        if support == "required" {
            let what = format!("a plain call of {name}, which must be a task,");
            expect_not_found(cx, &answer, &what);
        } else if answer["error"]["code"] == METHOD_NOT_FOUND {
            cx.fault(format!(
                "a plain call of {name}, which need not be a task, is refused with {METHOD_NOT_FOUND}"
            ));
        }
    }
    Ok(())
}

async fn forbidden_tool(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut call = call_of(cx, &["forbidden"])?;
    call["task"] = json!({"ttl": 60_000});
    let what = format!("a call of {} as a task, which it cannot be,", call["name"]);
    let answer = cx.request("tools/call", call).await?;
    expect_not_found(cx, &answer, &what);
    Ok(())
}

async fn metadata_ignored(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut call = call_of(cx, &["forbidden", "optional"])?;
    let plain = cx.request("tools/call", call.clone()).await?;
    if plain.get("result").is_none() {
        return Err(Stop::Skip(format!("a call of {} fails", call["name"])));
    }
    call["task"] = json!({"ttl": 60_000});
    let answer = cx.request("tools/call", call).await?;
    if let Some(error) = answer.get("error") {
        cx.fault(format!("a call with `task` is refused: {error}"));
    } else if answer["result"].get("task").is_some() {
        cx.fault("a call with `task` is answered with a task, and the server declares none");
    }
    Ok(())
}

async fn ttl_limited(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options()).await?;
    let task = start_for(cx, &mut probe, 0, LONG_TTL_MS).await?;
    let is_limited = task["ttl"].as_u64().is_some_and(|ttl| ttl < LONG_TTL_MS);
    if !is_limited {
        cx.fault(format!(
            "a task that was asked for with a `ttl` of {LONG_TTL_MS} has that of {}",
            task["ttl"]
        ));
    }
    Ok(())
}

/// Makes a call as a task, and waits for its end; returns the answer to tasks/result, and the task.
async fn ended_task(cx: &mut CheckContext<'_>, mut call: Value) -> Result<(Value, Value), Stop> {
    call["task"] = json!({"ttl": 60_000});
    let answer = cx.request("tools/call", call.clone()).await?;
    let task = &answer["result"]["task"];
    if task.is_null() {
        let tool = &call["name"];
        return Err(Stop::Skip(format!("a call of {tool} becomes no task")));
    }
    let id = json!({"taskId": task["taskId"]});
    let result = cx.request("tasks/result", id.clone()).await?;
    let mut state = cx.request("tasks/get", id).await?;
    Ok((result, state["result"].take()))
}

/// Returns a call that may be a task and that an error of JSON-RPC answers, with the code of the error.
async fn broken_call(cx: &mut CheckContext<'_>) -> Result<(Value, Value), Stop> {
    for (call, support) in calls_with_tasks(cx.survey()) {
        // What must be a task is refused for another reason.
        if support == "optional" {
            let mut plain = cx.request("tools/call", call.clone()).await?;
            let code = plain["error"]["code"].take();
            // A tool that must be a task after all, whatever it says.
            if code.is_i64() && code != METHOD_NOT_FOUND {
                return Ok((call, code));
            }
        }
    }
    Err(Stop::Skip(
        "no call that may be a task ends in an error of JSON-RPC".into(),
    ))
}

async fn error_kept(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (call, expected) = broken_call(cx).await?;
    let (result, _) = ended_task(cx, call.clone()).await?;
    let (tool, found) = (&call["name"], &result["error"]["code"]);
    if *found != expected {
        cx.fault(format!(
            "a call of {tool} ends in the error {expected}, tasks/result of it in {found}"
        ));
    }
    Ok(())
}

async fn error_failed(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (result, task) = ended_task(cx, json!({"name": FAILING, "arguments": {}})).await?;
    if result["result"]["isError"] != true {
        return Err(Stop::Skip(format!("the tool `{FAILING}` does not fail")));
    }
    let status = &task["status"];
    if status != "failed" {
        cx.fault(format!(
            "the task of a tool that failed has the status {status}"
        ));
    }
    Ok(())
}

async fn failure_explained(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (call, _) = broken_call(cx).await?;
    let (_, task) = ended_task(cx, call).await?;
    if task["status"] == "failed" && !task["statusMessage"].is_string() {
        cx.fault("a task with the status `failed` has no `statusMessage`");
    }
    Ok(())
}

async fn bad_cursor(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let params = json!({"cursor": "check-no-such-cursor"});
    let answer = cx.request("tasks/list", params).await?;
    let code = answer["error"]["code"].as_i64();
    if code != Some(INVALID_PARAMS) {
        let found = code.map_or_else(|| "a result".to_owned(), |code| code.to_string());
        cx.fault(format!(
            "tasks/list with an unknown cursor is answered with {found} instead of {INVALID_PARAMS}"
        ));
    }
    Ok(())
}

async fn no_stream(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let params = json!({"taskId": "check-unknown"});
    let message = cx.message("check-get", "tasks/get", params);
    let answer = session.post(cx, &message)?.send().await?;
    if answer.is_stream() {
        cx.fault("tasks/get is answered with a stream");
    }
    Ok(())
}
