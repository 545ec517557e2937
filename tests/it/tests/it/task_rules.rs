//! Tasks, in both forms: the extension of 2026-07-28 and the core's of 2025-11-25.

mod client;
mod core_access;
mod core_form;
mod core_questions;
mod extension;
mod faults;
mod questions;
mod refusals;
mod servers;
mod subscriptions;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::Server;
use turnbuckle_wire::revision::Revision;

use crate::support::{assert_random, call, principal, result};

/// The id of the extension.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Returns the capabilities of a client of the newest revision with tasks.
fn with_tasks() -> Value {
    json!({"elicitation": {"form": {}}, "sampling": {}, "extensions": {TASKS: {}}})
}

/// Returns the capabilities of a client of 2025-11-25 whose questions can be answered.
fn with_questions() -> Value {
    json!({"elicitation": {"form": {}}, "sampling": {}})
}

/// Returns the cases of the revision whose core has tasks.
fn core_cases() -> Vec<Case> {
    Case::with_revisions([revision_of_core_tasks()])
}

/// Returns the cases of both forms.
fn task_cases() -> Vec<Case> {
    let mut cases = core_cases();
    cases.extend(Case::modern());
    cases
}

fn revision_of_core_tasks() -> Revision {
    let mut revisions = Revision::ALL.into_iter();
    let found = revisions.find(|revision| revision.features().core_tasks);
    found.expect("one revision's core has tasks")
}

/// Connects a client with tasks, without a principal.
async fn connect(case: Case, server: &Server) -> Client {
    let capabilities = match case.is_modern() {
        true => with_tasks(),
        false => with_questions(),
    };
    let options = ClientOptions::new().capabilities(capabilities);
    Client::connect_with(case, server, options).await
}

/// Connects a client with tasks as that principal.
async fn connect_as(case: Case, server: &Server, name: &str) -> Client {
    let capabilities = match case.is_modern() {
        true => with_tasks(),
        false => with_questions(),
    };
    let options = ClientOptions::new()
        .capabilities(capabilities)
        .principal(principal(name));
    Client::connect_with(case, server, options).await
}

/// Calls a tool whose call becomes a task, in the form of the client's revision; returns the task.
async fn create(client: &mut Client, tool: &str, arguments: Value) -> Value {
    if client.case().is_modern() {
        let answer = call(client, tool, arguments).await;
        assert_eq!(result(&answer)["resultType"], "task", "{answer:#}");
        return answer["result"].clone();
    }
    let params = json!({"name": tool, "arguments": arguments, "task": {"ttl": 600_000}});
    let answer = client.request("tools/call", params).await;
    result(&answer)["task"].clone()
}

/// Returns the arguments of a tool that takes some time, or none.
fn arguments_of(tool: &str) -> Value {
    match tool {
        "nap" => json!({"seconds": 20}),
        _ => json!({}),
    }
}

/// Returns the id of a task.
#[track_caller]
fn id_of(task: &Value) -> String {
    let id = task["taskId"].as_str();
    id.unwrap_or_else(|| panic!("no task: {task:#}")).to_owned()
}

/// Gets a task.
async fn get(client: &mut Client, id: &str) -> Value {
    let answer = client.request("tasks/get", json!({"taskId": id})).await;
    result(&answer).clone()
}

/// Gets a task once a second until it has this status.
async fn until(client: &mut Client, id: &str, status: &str) -> Value {
    for _ in 0..120 {
        let task = get(client, id).await;
        if task["status"] == status {
            return task;
        }
        client.wait(Duration::from_secs(1)).await;
    }
    panic!("the task does not become {status}");
}

/// Asserts that the ids of tasks cannot be guessed: 256 random bits each.
fn assert_unguessable(ids: &[String]) {
    let halves = ids.iter().flat_map(|id| {
        let bytes = URL_SAFE_NO_PAD.decode(id).expect("Base64 for URLs");
        assert_eq!(bytes.len(), 32, "{id}");
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        [hex[..32].to_owned(), hex[32..].to_owned()]
    });
    assert_random(&halves.collect::<Vec<_>>());
}

/// Gives a task answers.
async fn update(client: &mut Client, id: &str, answers: Value) -> Value {
    let params = json!({"taskId": id, "inputResponses": answers});
    client.request("tasks/update", params).await
}

/// Returns the answer to a form with the field `name`.
fn form_answer(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}
