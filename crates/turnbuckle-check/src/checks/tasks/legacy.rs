//! Tasks of 2025-11-25, which a client asks for.
//!
//! Specification: basic/utilities/tasks (2025-11-25).

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::Probe;
use crate::report::Level;

/// The error for parameters that are wrong.
pub(super) const INVALID_PARAMS: i64 = -32602;

/// The key of `_meta` that names the task of a message.
pub(super) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// The time that a task is to be kept.
const TTL_MS: u64 = 60_000;

pub(super) const REVISION: &[Revision] = &[Revision::V2025_11_25];

pub(super) const NEEDS: &[Need] = &[
    Need::Capability("tasks.requests.tools.call"),
    Need::CallableTool,
];

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "tasks.legacy-created",
        Level::Must,
        "a call with task metadata is answered with a task that is working",
        |cx| Box::pin(created(cx)),
    )
    .revisions(REVISION)
    .needs(NEEDS)
    .requires(&["598fd38bab71", "fa8f16c4e419",
        "f0a109a2c600",
        "acfc1f1d550b", "8d3854212438", "a192a905dfaf", "5ac9dcf21046", "744436225f9b"])
    .fix("answer at once with `task`: its id, the status `working`, `createdAt`, `lastUpdatedAt` and `ttl`"),
    Check::new(
        "tasks.legacy-result-waits",
        Level::Must,
        "tasks/result waits for the end of a task, and names it",
        |cx| Box::pin(result(cx)),
    )
    .revisions(REVISION)
    .needs(NEEDS)
    .requires(&["a61fedbf4164", "eab0686e43cb", "7e47fefc6d7a", "26a12d085569", "29e353296ce4", "ea00c4ad908a", "6347c094e3c7", "d1991bcce4f6", "ec9bce30f9d1"])
    .fix("hold tasks/result until the task has ended, and put the related task into `_meta` of its result"),
    Check::new(
        "tasks.legacy-unknown-32602",
        Level::Must,
        "requests about an unknown task are refused with -32602",
        |cx| Box::pin(unknown(cx)),
    )
    .revisions(REVISION)
    .needs(&[Need::Capability("tasks")])
    .requires(&["2d108f08d702"])
    .fix("answer with -32602 for an id that you did not make, or no longer know"),
    Check::new(
        "tasks.legacy-list",
        Level::Must,
        "a task that can be got is listed",
        |cx| Box::pin(list(cx)),
    )
    .revisions(REVISION)
    .needs(&[Need::Capability("tasks.list"), Need::Capability("tasks.requests.tools.call"), Need::CallableTool])
    .requires(&["574ecc101a54", "13d933dc35c5"])
    .fix("list every task of the asker that tasks/get finds"),
    Check::new(
        "tasks.legacy-cancel-ended-32602",
        Level::Must,
        "a task that has ended cannot be cancelled",
        |cx| Box::pin(cancel_ended(cx)),
    )
    .revisions(REVISION)
    .needs(&[Need::Capability("tasks.cancel"), Need::Capability("tasks.requests.tools.call"), Need::CallableTool])
    .requires(&["d662f8b407e7", "acb2ebaf687a"])
    .fix("answer tasks/cancel of a task that has ended with -32602"),
];

/// Calls a tool as a task; returns the task. The official conformance suite's tool takes these seconds.
pub(crate) async fn start(
    cx: &mut CheckContext<'_>,
    probe: &mut Probe,
    seconds: u32,
) -> Result<Value, Stop> {
    start_for(cx, probe, seconds, TTL_MS).await
}

/// Calls a tool as a task that is to be kept for a time; returns the task.
pub(super) async fn start_for(
    cx: &mut CheckContext<'_>,
    probe: &mut Probe,
    seconds: u32,
    ttl_ms: u64,
) -> Result<Value, Stop> {
    let survey = cx.survey();
    let supports = |tool: &&Value| {
        let support = tool["execution"]["taskSupport"].as_str();
        matches!(support, Some("optional" | "required"))
    };
    let mut tools: Vec<_> = survey.callable_tools().filter(supports).collect();
    // The suite's tool that takes a while shows that a result is waited for.
    tools.sort_by_key(|tool| tool["name"] != "slow_compute");
    let tool = tools.first().ok_or_else(|| {
        Stop::Skip("no tool that may be called has `execution.taskSupport`".into())
    })?;
    let arguments = match tool["name"] == "slow_compute" {
        true => json!({"seconds": seconds, "label": "check"}),
        false => survey.arguments(tool),
    };
    let params = json!({"name": tool["name"], "arguments": arguments, "task": {"ttl": ttl_ms}});
    let mut answer = probe.request("tools/call", params).await?;
    match answer["result"]["task"].take() {
        Value::Null => Err(Stop::Skip(format!(
            "a call of {} as a task is answered without one: {answer}",
            tool["name"]
        ))),
        task => Ok(task),
    }
}

async fn created(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options()).await?;
    let task = start(cx, &mut probe, 0).await?;
    if task["status"] != "working" {
        cx.fault(format!(
            "a new task has the status {} instead of \"working\"",
            task["status"]
        ));
    }
    for member in ["taskId", "createdAt", "lastUpdatedAt"] {
        if !task[member].is_string() {
            cx.fault(format!("a new task has no `{member}`"));
        }
    }
    if task.get("ttl").is_none() {
        cx.fault("a new task has no `ttl`");
    }
    Ok(())
}

async fn result(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options()).await?;
    let task = start(cx, &mut probe, 1).await?;
    let id = json!({"taskId": task["taskId"]});
    let result = probe.request("tasks/result", id.clone()).await?;
    let state = probe.request("tasks/get", id.clone()).await?;
    let status = state["result"]["status"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if !["completed", "failed", "cancelled"].contains(&status.as_str()) {
        cx.fault(format!(
            "tasks/result was answered while the task has the status `{status}`"
        ));
    }
    if status == "completed" && !result["result"].is_object() {
        cx.fault("tasks/result of a completed task has no result");
    }
    let related = &result["result"]["_meta"][RELATED_TASK]["taskId"];
    if result["result"].is_object() && *related != task["taskId"] {
        cx.fault(format!(
            "the result does not name its task in `_meta` as {RELATED_TASK}"
        ));
    }
    // What has ended stays as it is.
    probe.wait(Duration::from_millis(200)).await?;
    let later = probe.request("tasks/get", id).await?;
    let later = later["result"]["status"].as_str().unwrap_or_default();
    if !later.is_empty() && later != status {
        cx.fault(format!(
            "the status of the task went from `{status}` to `{later}`"
        ));
    }
    Ok(())
}

async fn unknown(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut methods = vec!["tasks/get", "tasks/result"];
    if cx.survey().capability("tasks.cancel").is_some() {
        methods.push("tasks/cancel");
    }
    for method in methods {
        let answer = cx
            .request(method, json!({"taskId": "check-unknown"}))
            .await?;
        let code = answer["error"]["code"].as_i64();
        if code != Some(INVALID_PARAMS) {
            let found = code.map_or_else(|| "a result".to_owned(), |code| code.to_string());
            cx.fault(format!(
                "{method} of an unknown task is answered with {found} instead of {INVALID_PARAMS}"
            ));
        }
    }
    Ok(())
}

async fn list(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options()).await?;
    let task = start(cx, &mut probe, 0).await?;
    let mut params = json!({});
    for _ in 0..100 {
        let answer = probe.request("tasks/list", params).await?;
        let tasks = answer["result"]["tasks"].as_array();
        if tasks
            .into_iter()
            .flatten()
            .any(|it| it["taskId"] == task["taskId"])
        {
            return Ok(());
        }
        match answer["result"]["nextCursor"].as_str() {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    cx.fault("tasks/list lacks a task that was just created");
    Ok(())
}

async fn cancel_ended(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options()).await?;
    let task = start(cx, &mut probe, 0).await?;
    let id = json!({"taskId": task["taskId"]});
    probe.request("tasks/result", id.clone()).await?;
    let answer = probe.request("tasks/cancel", id).await?;
    let code = answer["error"]["code"].as_i64();
    if code != Some(INVALID_PARAMS) {
        let found = code.map_or_else(|| "a result".to_owned(), |code| code.to_string());
        cx.fault(format!(
            "tasks/cancel of a task that has ended is answered with {found} instead of {INVALID_PARAMS}"
        ));
    }
    Ok(())
}
