//! Declarations that a server owes: of what it serves, of changes, and of extensions by their names.
//!
//! Specification: basic/lifecycle, "Capability Negotiation"; basic/versioning, "Extensions" (2026-07-28).

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

use super::capabilities::{READING, params};
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::Probe;
use crate::report::Level;

/// Time in which a notification that a server has sent arrives.
const ARRIVAL: Duration = Duration::from_millis(200);

/// Pages of a list that are read.
const MAX_PAGES: usize = 50;

/// The fixtures of the official suite that change a list: the capability, and the tool.
const TRIGGERS: [(&str, &str); 2] = [
    ("tools", "test_trigger_tool_change"),
    ("prompts", "test_trigger_prompt_change"),
];

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "capabilities.served-declared",
        Level::Must,
        "what a server has to offer is declared",
        |cx| Box::pin(served_declared(cx)),
    )
    .requires(&[
        "4e6bf2935280",
        "b8a5e91028be",
        "f472c7cdb95e",
        "74aa4a3fec2c",
        "a468e13d6ce6",
        "0d392cfff5db",
    ])
    .fix("declare the capability of each list and of each kind of request that you serve"),
    Check::new(
        "capabilities.list-changed-announced",
        Level::Should,
        "a change of a list whose changes are declared is announced",
        |cx| Box::pin(change_announced(cx)),
    )
    .requires(&[
        "db9b3b4898e1",
        "2a14424c73b1",
        "c884a9c99fbb",
        "282a767299ae",
    ])
    .fix("send `list_changed` when the list has changed, to every session or subscription that asked"),
    Check::new(
        "capabilities.extension-names",
        Level::Must,
        "an extension is declared by a name with a prefix",
        |cx| Box::pin(extension_names(cx)),
    )
    .modern()
    .needs(&[Need::Capability("extensions")])
    .requires(&["b80eb6a14946"])
    .fix("name an extension like `com.example/name`: labels with dots, a slash, and a name"),
];

/// Returns whether a result of a reading request offers anything.
fn offers_something(method: &str, result: &Value) -> bool {
    let member = match method {
        "completion/complete" => &result["completion"]["values"],
        "resources/templates/list" => &result["resourceTemplates"],
        _ => &result[method.split('/').next().unwrap_or_default()],
    };
    member.as_array().is_some_and(|items| !items.is_empty())
}

async fn served_declared(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let tasks = [("tasks", "tasks/list")];
    let has_tasks = cx.revision() == Revision::V2025_11_25;
    let tasks = tasks.into_iter().filter(|_| has_tasks);
    let mut missing = 0;
    for (capability, method) in READING.into_iter().chain(tasks) {
        // Before it was a capability, every server could complete.
        let is_capability = capability != "completions" || cx.features().completions_capability;
        if !is_capability || cx.survey().capabilities.get(capability).is_some() {
            continue;
        }
        missing += 1;
        let answer = cx.request(method, params(method)).await?;
        let result = &answer["result"];
        // A method of tasks is of no use without them.
        if offers_something(method, result) || (capability == "tasks" && result.is_object()) {
            cx.fault_at(
                method,
                format!("`{capability}` is not declared, yet the request is served"),
            );
        }
    }
    match missing {
        0 => Err(Stop::Skip("the server declares every capability".into())),
        _ => Ok(()),
    }
}

/// Returns the names of the items of a list, page after page.
async fn names(probe: &mut Probe, capability: &str) -> Result<Vec<Value>, Stop> {
    let method = format!("{capability}/list");
    let mut names = Vec::new();
    let mut params = json!({});
    for _ in 0..MAX_PAGES {
        let answer = probe.request(&method, params).await?;
        let items = answer["result"][capability].as_array();
        names.extend(items.into_iter().flatten().map(|item| item["name"].clone()));
        match answer["result"]["nextCursor"].as_str() {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    Ok(names)
}

/// Returns a connection that is told of changes of a list; `None` if the server refuses to tell.
async fn listening(cx: &mut CheckContext<'_>, capability: &str) -> Result<Option<Probe>, Stop> {
    let mut probe = cx.fresh(cx.options()).await?;
    if cx.is_modern() {
        let filter = json!({format!("{capability}ListChanged"): true});
        let params = json!({"notifications": filter});
        let id = probe.start("subscriptions/listen", params).await?;
        if probe.next_or_response(id).await?.get("method").is_none() {
            return Ok(None);
        }
    }
    Ok(Some(probe))
}

async fn change_announced(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let survey = cx.survey();
    let mut changed = 0;
    for (capability, tool) in TRIGGERS {
        let is_callable = survey
            .tool(tool)
            .is_some_and(|tool| survey.is_callable(tool));
        let declared = survey.capability(&format!("{capability}.listChanged"));
        if !is_callable || declared.is_none() {
            continue;
        }
        let Some(mut probe) = listening(cx, capability).await? else {
            continue;
        };
        let before = names(&mut probe, capability).await?;
        let call = json!({"name": tool, "arguments": {}});
        probe.request("tools/call", call).await?;
        let after = names(&mut probe, capability).await?;
        if before == after {
            continue;
        }
        changed += 1;
        probe.wait(ARRIVAL).await?;
        let method = format!("notifications/{capability}/list_changed");
        let is_announced = probe
            .take_messages()
            .iter()
            .any(|it| it["method"] == method);
        if !is_announced {
            cx.fault_at(
                method,
                format!("`{tool}` changed the list, nothing told of it"),
            );
        }
    }
    match changed {
        0 => Err(Stop::Skip(
            "nothing that may be called changes a list".into(),
        )),
        _ => Ok(()),
    }
}

/// Returns whether a text begins and ends with a letter or a digit, with these marks in between.
fn is_label(text: &str, marks: &str) -> bool {
    let is_end = |char: Option<char>| char.is_some_and(|char| char.is_ascii_alphanumeric());
    is_end(text.chars().next())
        && is_end(text.chars().next_back())
        && text
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || marks.contains(char))
}

/// Returns whether a key has a prefix of labels, and a name.
fn is_prefixed(key: &str) -> bool {
    let Some((prefix, name)) = key.split_once('/') else {
        return false;
    };
    let begins_with_letter = |label: &str| label.starts_with(|it: char| it.is_ascii_alphabetic());
    let is_prefix_label = |label: &str| begins_with_letter(label) && is_label(label, "-");
    prefix.split('.').all(is_prefix_label) && is_label(name, "-_.")
}

async fn extension_names(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let extensions = cx.survey().capabilities["extensions"].as_object();
    for (name, _) in extensions.into_iter().flatten() {
        if !is_prefixed(name) {
            cx.fault_at(
                name,
                "the name of the extension has no prefix, or characters that keys must not have",
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_extensions_have_a_prefix() {
        for name in ["io.modelcontextprotocol/ui", "com.example/my_ext.v2", "a/b"] {
            assert!(is_prefixed(name), "{name}");
        }
        for name in [
            "ui",
            "/ui",
            "com.example/",
            "1a.b/c",
            "com..a/b",
            "com.a-/b",
            "a/b/c",
            "a/-b",
        ] {
            assert!(!is_prefixed(name), "{name}");
        }
    }
}
