//! The extension for tasks: what a client sends for a task, and what a server does not send.
//!
//! Specification: the extension `io.modelcontextprotocol/tasks`, a draft.

use serde_json::json;

use super::extension::{
    EXTENSION, INVALID_PARAMS, calls, declaring, keys, look, outcome, start_fixture,
};
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// The notifications that no task sends.
const NEVER: [&str; 2] = ["notifications/progress", "notifications/message"];

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "tasks.unknown-input-32602",
        Level::Should,
        "tasks/update and tasks/cancel of an unknown task are refused with -32602",
        |cx| Box::pin(unknown(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION)])
    .requires(&["600e0129ee8f", "c3019145f9e8"])
    .fix("answer with -32602 for an id that you did not make, or no longer know"),
    Check::new(
        "tasks.no-progress",
        Level::Must,
        "no progress and no log message comes for a task",
        |cx| Box::pin(no_progress(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION), Need::CallableTool])
    .requires(&["5ffbadd6d07e"])
    .fix("stop progress and log messages once the call is answered with its task"),
    Check::new(
        "tasks.surplus-answer-ignored",
        Level::Should,
        "an answer that a task does not ask for is ignored",
        |cx| Box::pin(surplus(cx)),
    )
    .modern()
    .needs(&[Need::Extension(EXTENSION), Need::Fixture("multi_input")])
    .requires(&["b054eaacff25"])
    .fix("take the answers under keys that are asked, and leave the others alone"),
];

async fn unknown(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    let update = json!({"taskId": "check-unknown", "inputResponses": {}});
    let cancel = json!({"taskId": "check-unknown"});
    for (method, params) in [("tasks/update", update), ("tasks/cancel", cancel)] {
        let answer = probe.request(method, params).await?;
        if answer["error"]["code"] != INVALID_PARAMS {
            let found = outcome(&answer);
            cx.fault(format!(
                "{method} of an unknown task is answered with {found} instead of {INVALID_PARAMS}"
            ));
        }
    }
    Ok(())
}

async fn no_progress(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    for mut call in calls(cx) {
        call["_meta"] = json!({"progressToken": "check-task",
            "io.modelcontextprotocol/logLevel": "debug"});
        let answer = probe.request("tools/call", call).await?;
        if answer["result"]["resultType"] != "task" {
            continue;
        }
        probe.take_messages();
        look(cx, &mut probe, &answer["result"]).await?;
        let messages = probe.take_messages();
        let mut methods = messages.iter().filter_map(|it| it["method"].as_str());
        if let Some(method) = methods.find(|method| NEVER.contains(method)) {
            cx.fault(format!(
                "{method} came after the call was answered with a task"
            ));
        }
        return Ok(());
    }
    Err(Stop::Skip("no call that may be made becomes a task".into()))
}

async fn surplus(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    let created = start_fixture(&mut probe, "multi_input").await?;
    let asked = keys(&look(cx, &mut probe, &created).await?);
    if asked.is_empty() {
        return Err(Stop::Skip("the task of multi_input asks nothing".into()));
    }
    let params = json!({"taskId": created["taskId"],
        "inputResponses": {"check-surplus": {"action": "cancel"}}});
    let answer = probe.request("tasks/update", params).await?;
    if let Some(error) = answer.get("error") {
        cx.fault(format!(
            "tasks/update with an answer that was not asked for fails: {error}"
        ));
    }
    let left = keys(&look(cx, &mut probe, &created).await?);
    if left != asked {
        cx.fault(format!(
            "after an answer that was not asked for the task asks {left:?} instead of {asked:?}"
        ));
    }
    Ok(())
}
