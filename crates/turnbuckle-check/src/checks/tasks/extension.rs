//! The extension for tasks: what becomes of a call that a server answers with a task.
//!
//! Specification: the extension `io.modelcontextprotocol/tasks`, a draft.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::{Probe, ProbeOptions};
use crate::report::Level;

pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The error for a request without a capability that it needs.
const MISSING_CAPABILITY: i64 = -32021;

/// The error for parameters that are wrong.
pub(super) const INVALID_PARAMS: i64 = -32602;

/// Longest wait between two looks at a task.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// Looks at one task.
const MAX_POLLS: usize = 100;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "tasks.undeclared-32021",
        Level::Must,
        "requests about tasks are refused with -32021 for clients without the extension",
        |cx| Box::pin(without_extension(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION)])
    .requires(&["c66abdf7e612", "6682c0237dea", "6bfa6a9c6d3b", "491b17f861ba"])
    .fix("answer with -32021 and `data.requiredCapabilities.extensions` when a request does not declare the extension"),
    Check::new(
        "tasks.undeclared-no-task",
        Level::Must,
        "a client without the extension gets no task",
        |cx| Box::pin(no_task(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION), Need::CallableTool])
    .requires(&["9684d731b787", "27d827ef41b3", "9d13bfd04526"])
    .fix("look at the capabilities of the request: without the extension answer with the result, or -32021"),
    Check::new(
        "tasks.unknown-32602",
        Level::Must,
        "tasks/get of an unknown task is refused with -32602",
        |cx| Box::pin(unknown(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION)])
    .requires(&["d9a4f0a1a5f0", "a14776da5a87"])
    .fix("answer with -32602 for an id that you did not make, or no longer know"),
    Check::new(
        "tasks.created-before-answer",
        Level::Must,
        "a task can be got as soon as it is told",
        |cx| Box::pin(created(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION), Need::CallableTool])
    .requires(&["b891ff58a70e", "cad19537c14c", "31c3ae1a3e6a"])
    .fix("store the task before you answer the call with it"),
    Check::new(
        "tasks.status-fields",
        Level::Must,
        "a task shows what belongs to its status",
        |cx| Box::pin(status_fields(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION), Need::CallableTool])
    .requires(&["7802255df651", "5e45f843ab33", "0ccdf9ba8303", "21f37f877466", "6207c05204fa", "689839b7a82e"])
    .fix("give a completed task its `result`, a failed one its `error`, one that waits its `inputRequests`"),
    Check::new(
        "tasks.tool-error-completed",
        Level::Must,
        "a tool that fails completes its task, with `isError` in the result",
        |cx| Box::pin(tool_error(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION), Need::Fixture("failing_job")])
    .requires(&["be35efef7f8c", "020972d4260c", "dcb3ffcca81e"])
    .fix("keep `failed` for errors of JSON-RPC; an error of a tool is a result"),
    Check::new(
        "tasks.protocol-error-failed",
        Level::Must,
        "a call that ends in an error of JSON-RPC fails its task",
        |cx| Box::pin(protocol_error(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION), Need::Fixture("protocol_error_job")])
    .requires(&["b814eacc591c", "1e2e1b5ce40b"])
    .fix("set the status to `failed`, with the error in `error`"),
    Check::new(
        "tasks.keys-unique",
        Level::Must,
        "a question that is answered is not asked again under its key",
        |cx| Box::pin(keys_unique(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION), Need::Fixture("multi_input")])
    .requires(&["0bcb40bca16a", "0cd7a2c387c0", "c560ef68b1e4", "6f4bc6494af7"])
    .fix("give each question of a task a key of its own, and drop it once it is answered"),
    Check::new(
        "tasks.malformed-answer",
        Level::Note,
        "what is no answer to a question of a task leaves it open",
        |cx| Box::pin(malformed_answer(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION), Need::Fixture("multi_input")])
    .fix("refuse an answer that has not the form of one, and ask on"),
    Check::new(
        "tasks.cancel-ack",
        Level::Must,
        "tasks/cancel is acknowledged with an empty result",
        |cx| Box::pin(cancel(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION), Need::CallableTool])
    .requires(&["617b560f2d76", "b4dcd1e280f3"])
    .fix("answer tasks/cancel with `{\"resultType\": \"complete\"}`, whenever the work ends"),
];

/// Opens a connection whose requests declare the extension.
pub(crate) async fn declaring(cx: &mut CheckContext<'_>) -> Result<Probe, Stop> {
    cx.fresh(declaring_options(cx)).await
}

/// Returns the options of a connection whose requests declare the extension.
pub(crate) fn declaring_options(cx: &CheckContext<'_>) -> ProbeOptions {
    let mut options = cx.options();
    options.capabilities = json!({"extensions": {EXTENSION: {}}, "elicitation": {"form": {}}});
    options
}

/// Returns calls that may become tasks, such as that of the official conformance suite's tool, which takes
/// no time.
pub(super) fn calls(cx: &CheckContext<'_>) -> Vec<Value> {
    let survey = cx.survey();
    let name = "slow_compute";
    if survey
        .tool(name)
        .is_some_and(|tool| survey.is_callable(tool))
    {
        let arguments = json!({"seconds": 0, "label": "check"});
        return vec![json!({"name": name, "arguments": arguments})];
    }
    let call = |tool: &Value| json!({"name": tool["name"], "arguments": survey.arguments(tool)});
    survey.callable_tools().take(10).map(call).collect()
}

/// Calls tools until one is answered with a task; returns the task.
pub(crate) async fn start(cx: &mut CheckContext<'_>, probe: &mut Probe) -> Result<Value, Stop> {
    for call in calls(cx) {
        let mut answer = probe.request("tools/call", call).await?;
        if answer["result"]["resultType"] == "task" {
            return Ok(answer["result"].take());
        }
    }
    Err(Stop::Skip("no call that may be made becomes a task".into()))
}

/// Calls a tool of the official conformance suite, whose calls become tasks.
pub(super) async fn start_fixture(probe: &mut Probe, name: &str) -> Result<Value, Stop> {
    let params = json!({"name": name, "arguments": {}});
    let mut answer = probe.request("tools/call", params).await?;
    match answer["result"]["resultType"].as_str() {
        Some("task") => Ok(answer["result"].take()),
        _ => Err(Stop::Skip(format!("the call of {name} became no task"))),
    }
}

/// Looks at a task until it has another status than `working`.
pub(super) async fn look(
    cx: &mut CheckContext<'_>,
    probe: &mut Probe,
    task: &Value,
) -> Result<Value, Stop> {
    let id = task["taskId"].clone();
    let end = tokio::time::Instant::now() + cx.timeout();
    let mut last = Value::Null;
    for _ in 0..MAX_POLLS {
        let mut answer = probe.request("tasks/get", json!({"taskId": id})).await?;
        last = answer["result"].take();
        if last["status"] != "working" || tokio::time::Instant::now() >= end {
            break;
        }
        let interval = last["pollIntervalMs"].as_u64().unwrap_or(200);
        probe
            .wait(Duration::from_millis(interval).min(MAX_INTERVAL))
            .await?;
    }
    Ok(last)
}

async fn without_extension(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let update = json!({"taskId": "check-unknown", "inputResponses": {}});
    let requests = [
        ("tasks/get", json!({"taskId": "check-unknown"})),
        ("tasks/update", update),
        ("tasks/cancel", json!({"taskId": "check-unknown"})),
    ];
    for (method, params) in requests {
        let answer = cx.request(method, params).await?;
        let error = &answer["error"];
        if error["code"] != MISSING_CAPABILITY {
            let found = outcome(&answer);
            cx.fault(format!(
                "{method} without the extension is answered with {found} instead of {MISSING_CAPABILITY}"
            ));
        } else if error["data"]["requiredCapabilities"]["extensions"]
            .get(EXTENSION)
            .is_none()
        {
            cx.fault(format!(
                "the refusal of {method} does not name the extension in `data.requiredCapabilities`"
            ));
        }
    }
    let mut probe = cx.fresh(cx.options()).await?;
    let filter = json!({"notifications": {"taskIds": ["check-unknown"]}});
    let id = probe.start("subscriptions/listen", filter).await?;
    let first = probe.next_or_response(id).await?;
    if first["error"]["code"] != MISSING_CAPABILITY {
        let found = match first["method"].as_str() {
            Some(method) => method.to_owned(),
            None => outcome(&first),
        };
        cx.fault(format!(
            "a subscription to a task without the extension is answered with {found} instead of {MISSING_CAPABILITY}"
        ));
    }
    Ok(())
}

/// Returns the code of an error, or says that there is a result.
pub(super) fn outcome(answer: &Value) -> String {
    match answer["error"]["code"].as_i64() {
        Some(code) => code.to_string(),
        None => "a result".to_owned(),
    }
}

async fn no_task(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for call in calls(cx).into_iter().take(3) {
        let name = call["name"].as_str().unwrap_or_default().to_owned();
        let answer = cx.request("tools/call", call).await?;
        if answer["result"]["resultType"] == "task" {
            cx.fault_at(name, "a call without the extension is answered with a task");
        }
    }
    Ok(())
}

async fn unknown(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    let params = json!({"taskId": "check-unknown"});
    let answer = probe.request("tasks/get", params).await?;
    if answer["error"]["code"] != INVALID_PARAMS {
        let found = outcome(&answer);
        cx.fault(format!(
            "tasks/get of an unknown task is answered with {found} instead of {INVALID_PARAMS}"
        ));
    }
    Ok(())
}

async fn created(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    let task = start(cx, &mut probe).await?;
    let params = json!({"taskId": task["taskId"]});
    let answer = probe.request("tasks/get", params).await?;
    if answer["result"]["taskId"] != task["taskId"] {
        let found = outcome(&answer);
        cx.fault(format!(
            "tasks/get is answered with {found} right after the task was told"
        ));
    }
    Ok(())
}

async fn status_fields(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    let task = start(cx, &mut probe).await?;
    let task = look(cx, &mut probe, &task).await?;
    if task["resultType"] != "complete" {
        cx.fault(format!(
            "the result of tasks/get has the `resultType` {} instead of \"complete\"",
            task["resultType"]
        ));
    }
    let status = task["status"].as_str().unwrap_or_default();
    let member = match status {
        "completed" => "result",
        "failed" => "error",
        "input_required" => "inputRequests",
        _ => return Ok(()),
    };
    if !task[member].is_object() {
        cx.fault(format!(
            "a task with the status `{status}` has no `{member}`"
        ));
    }
    Ok(())
}

async fn tool_error(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    let task = start_fixture(&mut probe, "failing_job").await?;
    let task = look(cx, &mut probe, &task).await?;
    if task["status"] != "completed" || task["result"]["isError"] != true {
        cx.fault(format!(
            "the task of a tool that failed has the status {} and `isError` is {}",
            task["status"], task["result"]["isError"]
        ));
    }
    Ok(())
}

async fn protocol_error(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    let task = start_fixture(&mut probe, "protocol_error_job").await?;
    let task = look(cx, &mut probe, &task).await?;
    if task["status"] != "failed" || !task["error"]["code"].is_i64() {
        cx.fault(format!(
            "the task of a call that ended in an error has the status {} and the `error` {}",
            task["status"], task["error"]
        ));
    }
    Ok(())
}

/// Returns the keys of the questions of a task.
pub(super) fn keys(task: &Value) -> BTreeSet<String> {
    let questions = task["inputRequests"].as_object();
    questions
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone())
        .collect()
}

async fn keys_unique(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    let created = start_fixture(&mut probe, "multi_input").await?;
    let task = look(cx, &mut probe, &created).await?;
    let asked = keys(&task);
    let Some(first) = asked.first() else {
        return Err(Stop::Skip(format!(
            "the task of multi_input has the status {} and asks nothing",
            task["status"]
        )));
    };
    // Declined, so that any form is answered.
    let params = json!({"taskId": created["taskId"],
        "inputResponses": {first.as_str(): {"action": "decline"}}});
    let answer = probe.request("tasks/update", params).await?;
    if answer.get("error").is_some() {
        let found = outcome(&answer);
        cx.fault(format!(
            "tasks/update with the answer to one of the questions is refused with {found}"
        ));
    } else if answer["result"]["resultType"] != "complete" {
        cx.fault("the acknowledgement of tasks/update has not the `resultType` \"complete\"");
    }
    // The acknowledgement may come before the status shows it.
    for _ in 0..10 {
        let task = look(cx, &mut probe, &created).await?;
        if !keys(&task).contains(first) {
            return Ok(());
        }
        probe.wait(Duration::from_millis(200)).await?;
    }
    cx.fault(format!(
        "the question `{first}` is still asked after it was answered"
    ));
    Ok(())
}

async fn malformed_answer(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    let created = start_fixture(&mut probe, "multi_input").await?;
    let task = look(cx, &mut probe, &created).await?;
    let Some(first) = keys(&task).pop_first() else {
        return Err(Stop::Skip("the task of multi_input asks nothing".into()));
    };
    let params = json!({"taskId": created["taskId"],
        "inputResponses": {first.as_str(): {"action": "check"}}});
    let answer = probe.request("tasks/update", params).await?;
    let task = look(cx, &mut probe, &created).await?;
    if answer.get("error").is_none() && !keys(&task).contains(&first) {
        cx.fault(format!(
            "`{{\"action\": \"check\"}}` is taken for an answer to `{first}`"
        ));
    }
    Ok(())
}

async fn cancel(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    let task = start(cx, &mut probe).await?;
    let params = json!({"taskId": task["taskId"]});
    let answer = probe.request("tasks/cancel", params).await?;
    let Some(result) = answer["result"].as_object() else {
        let found = outcome(&answer);
        cx.fault(format!("tasks/cancel of a task is refused with {found}"));
        return Ok(());
    };
    if answer["result"]["resultType"] != "complete" {
        cx.fault("the acknowledgement of tasks/cancel has not the `resultType` \"complete\"");
    }
    let mut members = result.keys().map(String::as_str);
    if let Some(member) = members.find(|name| !["resultType", "_meta"].contains(name)) {
        cx.fault(format!(
            "the acknowledgement of tasks/cancel has the member `{member}`"
        ));
    }
    Ok(())
}
