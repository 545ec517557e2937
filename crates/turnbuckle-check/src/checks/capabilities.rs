//! Declarations of a server, held against its behaviour.
//!
//! Specification: basic/lifecycle, "Capability Negotiation"; basic/versioning (2026-07-28).

use serde_json::{Value, json};

use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// Requests that read, each with the capability that it needs.
pub(super) const READING: [(&str, &str); 5] = [
    ("tools", "tools/list"),
    ("resources", "resources/list"),
    ("resources", "resources/templates/list"),
    ("prompts", "prompts/list"),
    ("completions", "completion/complete"),
];

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "capabilities.declared-answers",
        Level::Must,
        "what is declared answers",
        |cx| Box::pin(declared_answers(cx)),
    )
    .requires(&["4bde8b77cab8", "bf40b4d36a4f", "4e6bf2935280"])
    .fix("serve the lists of each capability that you declare, or do not declare it"),
    Check::new(
        "capabilities.undeclared-32601",
        Level::Should,
        "a request of a capability that is not declared is refused with -32601",
        |cx| Box::pin(undeclared_refused(cx)),
    )
    .requires(&[
        "4bde8b77cab8",
        "bf40b4d36a4f",
        "db9f9011d489",
        "60a70291f1db",
    ])
    .fix("declare the capability, or answer its requests with -32601 (Method not found)"),
    Check::new(
        "capabilities.list-changed-declared",
        Level::Must,
        "changes of a list are announced only where that is declared",
        |cx| Box::pin(list_changed_declared(cx)),
    )
    .legacy()
    .requires(&["4bde8b77cab8", "bf40b4d36a4f"])
    .fix("declare `listChanged` for each list whose changes you announce"),
    Check::new(
        "capabilities.no-core-tasks",
        Level::Note,
        "a revision whose tasks are an extension has no capability `tasks`",
        |cx| Box::pin(no_core_tasks(cx)),
    )
    .modern()
    .fix("declare the extension `io.modelcontextprotocol/tasks` instead"),
];

async fn no_core_tasks(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    if cx.survey().capability("tasks").is_some() {
        let revision = cx.revision();
        cx.fault(format!(
            "the server declares `tasks`, which {revision} does not define"
        ));
    }
    Ok(())
}

async fn declared_answers(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (method, refusal) in &cx.survey().failures {
        // No sentence demands templates of a server with resources.
        let may_be_unknown = *method == "resources/templates/list" && refusal.code == Some(-32601);
        if !may_be_unknown {
            cx.fault_at(*method, refusal.reason.clone());
        }
    }
    Ok(())
}

/// Returns parameters that a server with the capability accepts, or refuses with -32602.
pub(super) fn params(method: &str) -> Value {
    match method {
        "completion/complete" => json!({"ref": {"type": "ref/prompt", "name": "check"},
            "argument": {"name": "check", "value": ""}}),
        _ => json!({}),
    }
}

async fn undeclared_refused(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut missing = 0;
    for (capability, method) in READING {
        // Before it was a capability, every server could complete.
        let is_capability = capability != "completions" || cx.features().completions_capability;
        if !is_capability || cx.survey().capability(capability).is_some() {
            continue;
        }
        missing += 1;
        let answer = cx.request(method, params(method)).await?;
        match answer["error"]["code"].as_i64() {
            Some(-32601) => {}
            Some(code) => cx.fault_at(
                method,
                format!("`{capability}` is not declared; the request is refused with {code} instead of -32601"),
            ),
            None => cx.fault_at(
                method,
                format!("`{capability}` is not declared, yet the request is served"),
            ),
        }
    }
    match missing {
        0 => Err(Stop::Skip("the server declares every capability".into())),
        _ => Ok(()),
    }
}

async fn list_changed_declared(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let survey = cx.survey();
    // The fixtures of the official suite that change a list.
    let triggers = [
        ("tools", "test_trigger_tool_change"),
        ("prompts", "test_trigger_prompt_change"),
    ];
    let mut called = 0;
    for (capability, tool) in triggers {
        if survey
            .tool(tool)
            .is_none_or(|tool| !survey.is_callable(tool))
        {
            continue;
        }
        called += 1;
        let probe = cx.probe().await?;
        probe.take_messages();
        let params = json!({"name": tool, "arguments": {}});
        probe.request("tools/call", params).await?;
        probe.request("ping", json!({})).await?;
        let method = format!("notifications/{capability}/list_changed");
        let is_announced = probe
            .take_messages()
            .iter()
            .any(|it| it["method"] == method);
        let is_declared = survey
            .capability(&format!("{capability}.listChanged"))
            .is_some();
        if is_announced && !is_declared {
            cx.fault_at(
                method,
                format!("`{capability}.listChanged` is not declared"),
            );
        }
    }
    match called {
        0 => Err(Stop::Skip(
            "no tool that may be called changes a list".into(),
        )),
        _ => Ok(()),
    }
}
