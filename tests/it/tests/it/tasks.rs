//! Tests of tasks: calls that a client can leave and come back to.

mod bounds;
mod equal;
mod faults;
mod server;
mod stored;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_wire::revision::Revision;

use crate::asking::{self, KINDS, good_answer, requests};
use crate::support::{self, Question, call, connect_able, converse, result, text};

/// A key of the metadata of the calls that become tasks.
const ORIGIN: &str = "com.example/origin";

// requirement: d408445369e7
#[tokio::test(start_paused = true)]
async fn task_metadata_is_ignored() {
    let server = crate::servers::echo();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let declared = match client.handshake() {
            Some(handshake) => handshake["capabilities"].clone(),
            None => {
                client.request("server/discover", json!({})).await["result"]["capabilities"].take()
            }
        };
        assert_eq!(declared.get("tasks"), None, "{case}");
        let plain = call(&mut client, "echo", json!({"text": "hello"})).await;
        for task in [
            json!({"ttl": 60_000}),
            json!({}),
            json!({"ttl": "x"}),
            json!(5),
        ] {
            let params = json!({"name": "echo", "arguments": {"text": "hello"}, "task": task});
            let answer = client.request("tools/call", params).await;
            assert_eq!(text(&answer), "hello", "{case}");
            assert_eq!(answer["result"], plain["result"], "{case} {task}");
        }
    }
}

// requirement: 2a4208f29240 5868e2745716
#[tokio::test(start_paused = true)]
async fn own_requests_never_ask_for_a_task() {
    let server = asking::server();
    for case in Case::legacy() {
        let mut declared = support::able(case.revision);
        declared["tasks"] = json!({
            "list": {}, "cancel": {},
            "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}},
        });
        for declared in [declared, support::able(case.revision)] {
            let mut client = connect_able(case, &server, declared).await;
            for kind in KINDS {
                for (method, params) in requests(kind) {
                    let answer = |it: &Question| good_answer(&it.method, &it.params);
                    for asked in converse(&mut client, method, params, answer).await.1 {
                        assert_eq!(asked.params.get("task"), None, "{case} {kind}");
                    }
                }
            }
            let tasks = |it: &&Value| {
                it["method"]
                    .as_str()
                    .is_some_and(|method| method.starts_with("tasks/"))
            };
            assert_eq!(
                client.received_messages().iter().find(tasks),
                None,
                "{case}"
            );
        }
    }
}

/// Returns the cases of revisions that have tasks.
pub(crate) fn task_cases() -> Vec<Case> {
    Case::with_revisions([Revision::V2025_11_25, Revision::V2026_07_28])
}

/// Returns the capabilities of a client with tasks that can be asked.
pub(crate) fn able(case: Case) -> Value {
    let mut declared = support::able(case.revision);
    if case.is_modern() {
        declared["extensions"]["io.modelcontextprotocol/tasks"] = json!({});
    }
    declared
}

/// Calls a tool, and returns the task that the call became.
pub(crate) async fn call_as_task(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments, "_meta": {ORIGIN: "a test"}});
    let is_legacy = client.case().is_legacy();
    if is_legacy {
        params["task"] = json!({"ttl": 600_000});
    }
    let answer = client.request("tools/call", params).await;
    let created = result(&answer);
    if is_legacy {
        return created["task"].clone();
    }
    assert_eq!(created["resultType"], "task", "{answer}");
    created.clone()
}

/// Returns a task.
pub(crate) async fn get(client: &mut Client, id: &str) -> Value {
    let answer = client.request("tasks/get", json!({"taskId": id})).await;
    result(&answer).clone()
}

/// Answers questions of a task.
pub(crate) async fn answer_task(client: &mut Client, id: &str, answers: Value) -> Value {
    let params = json!({"taskId": id, "inputResponses": answers});
    client.request("tasks/update", params).await
}

/// Cancels a task.
pub(crate) async fn cancel(client: &mut Client, id: &str) -> Value {
    client.request("tasks/cancel", json!({"taskId": id})).await
}
