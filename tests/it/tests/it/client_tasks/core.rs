//! Tasks in the form of 2025-11-25.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use turnbuckle_client::{Client, Error, Form, FormAnswer, QuestionContext, Started};
use turnbuckle_it::coupled::connect_to;
use turnbuckle_it::faults::{LEGACY, PeerTransport};
use turnbuckle_it::peer::{Peer, ReceivedMessage, Step};
use turnbuckle_types::{InputResponses, Json};
use turnbuckle_wire::revision::Revision;

use super::ID;
use crate::client_support::plain;

fn state(status: &str) -> Value {
    json!({"taskId": ID, "status": status, "createdAt": "2025-11-25T10:00:00Z",
        "lastUpdatedAt": "2025-11-25T10:00:01Z", "ttl": 60_000, "pollInterval": 2_000})
}

fn initialized(heard: &ReceivedMessage, tasks: &Value) -> Vec<Step> {
    vec![heard.answer(json!({"protocolVersion": LEGACY.as_str(),
        "capabilities": {"tools": {}, "tasks": tasks},
        "serverInfo": {"name": "peer", "version": "0"}}))]
}

fn all() -> Value {
    json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}})
}

fn tools(heard: &ReceivedMessage) -> Vec<Step> {
    let tool = |name: &str, support: Option<&str>| {
        let mut tool = json!({"name": name, "inputSchema": {"type": "object"}});
        if let Some(support) = support {
            tool["execution"] = json!({"taskSupport": support});
        }
        tool
    };
    vec![
        heard.answer(json!({"tools": [tool("required", Some("required")),
        tool("optional", Some("optional")), tool("forbidden", Some("forbidden")),
        tool("silent", None)]})),
    ]
}

/// Answers a call as the definition of its tool demands.
fn call_answer(heard: &ReceivedMessage) -> Vec<Step> {
    let params = &heard.message["params"];
    let is_wished = params.get("task").is_some();
    match (params["name"].as_str().unwrap(), is_wished) {
        ("required" | "optional", true) => vec![heard.answer(json!({"task": state("working")}))],
        ("required", false) | ("forbidden" | "silent", true) => {
            vec![heard.refuse(-32601, "not in this way")]
        }
        _ => vec![heard.text("plain")],
    }
}

/// Creates a server with these capabilities for tasks and these states.
fn peer(tasks: Value, states: &'static [&'static str]) -> Peer {
    let asked = AtomicUsize::new(0);
    Peer::new(LEGACY, move |heard| match heard.method() {
        "initialize" => Some(initialized(heard, &tasks)),
        "tools/list" => Some(tools(heard)),
        "tools/call" => Some(call_answer(heard)),
        "tasks/get" => {
            let number = asked.fetch_add(1, Ordering::Relaxed).min(states.len() - 1);
            Some(vec![heard.answer(state(states[number]))])
        }
        "tasks/cancel" => Some(vec![heard.answer(state("cancelled"))]),
        "tasks/result" => Some(vec![heard.answer(json!({
            "content": [{"type": "text", "text": "done"}],
            "_meta": {"io.modelcontextprotocol/related-task": {"taskId": ID}}
        }))]),
        _ => None,
    })
}

/// Returns the text of a call's result, and whether each call so far wished for a task.
async fn call(client: &Client, peer: &Peer, tool: &str) -> (String, Vec<bool>) {
    let text = client
        .call_tool(tool, &())
        .await
        .unwrap()
        .text()
        .into_owned();
    (text, wishes(peer))
}

fn wishes(peer: &Peer) -> Vec<bool> {
    let calls = peer.messages_of("tools/call").into_iter();
    calls
        .map(|call| call.message["params"].get("task").is_some())
        .collect()
}

// requirement: 3b7ae831507c
#[tokio::test(start_paused = true)]
async fn a_tool_is_called_as_a_task_where_it_demands_that() {
    for transport in [PeerTransport::Lines, PeerTransport::Web] {
        let peer = peer(all(), &["working", "working", "completed"]);
        let client = transport.connect(&peer).await;
        client.list_tools().fetch_all().await.unwrap();
        let began = Instant::now();
        let (text, wished) = call(&client, &peer, "required").await;
        assert_eq!((&*text, wished), ("done", vec![true]));
        assert_eq!(began.elapsed().as_secs(), 6);
        assert_eq!(peer.messages_of("tasks/get").len(), 3);
        assert_eq!(peer.messages_of("tasks/result").len(), 1);
        for tool in ["optional", "forbidden", "silent", "unknown"] {
            let (text, wished) = call(&client, &peer, tool).await;
            assert_eq!((&*text, wished.last()), ("plain", Some(&false)), "{tool}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_is_made_again_as_a_task_if_the_list_says_so() {
    let peer = peer(all(), &["completed"]);
    let client = connect_to(&peer, plain()).await.unwrap();
    let (text, wished) = call(&client, &peer, "required").await;
    assert_eq!((&*text, wished), ("done", vec![false, true]));
    assert_eq!(peer.messages_of("tools/list").len(), 1);
}

// requirement: 98a561be7bf6
#[tokio::test(start_paused = true)]
async fn a_started_call_is_a_task_where_the_tool_allows_it() {
    let peer = peer(all(), &["working", "completed"]);
    let client = connect_to(&peer, plain()).await.unwrap();
    for tool in ["forbidden", "silent", "unknown"] {
        let started = client.call_tool(tool, &()).start().await.unwrap();
        assert!(matches!(started, Started::Done(_)), "{tool}");
    }
    assert_eq!(wishes(&peer), [false; 3]);
    for tool in ["optional", "required"] {
        match client.call_tool(tool, &()).start().await.unwrap() {
            Started::Task(task) => {
                assert_eq!(task.to_string(), format!("2025-11-25/{tool}/{ID}"));
                assert_eq!(task.await.unwrap().text(), "done");
            }
            Started::Done(result) => panic!("{result:?}"),
        }
    }
    assert_eq!(wishes(&peer)[3..], [true, true]);
}

// requirement: 3e6d37ee01ad
#[tokio::test(start_paused = true)]
async fn no_task_is_wished_for_where_the_server_declares_none() {
    for tasks in [json!({}), json!({"list": {}, "cancel": {}, "requests": {}})] {
        let peer = peer(tasks, &["completed"]);
        let client = connect_to(&peer, plain()).await.unwrap();
        client.list_tools().fetch_all().await.unwrap();
        let mut call = client.call_tool("optional", &());
        call.params_mut().task = Some(turnbuckle_types::TaskMetadata::new());
        let started = call.start().await.unwrap();
        assert!(matches!(started, Started::Done(_)));
        let refused = client.call_tool("required", &()).await.unwrap_err();
        assert_eq!(refused.error_response().unwrap().code, -32601);
        assert_eq!(wishes(&peer), [false, false]);
    }
    let peer = peer(all(), &["completed"]);
    let client = connect_to(&peer, plain().tasks(false)).await.unwrap();
    client.list_tools().fetch_all().await.unwrap();
    client.call_tool("optional", &()).start().await.unwrap();
    assert_eq!(wishes(&peer), [false]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_task_is_that_of_its_call() {
    let failed = Peer::new(LEGACY, |heard| match heard.method() {
        "initialize" => Some(initialized(heard, &all())),
        "tools/list" => Some(tools(heard)),
        "tools/call" => Some(call_answer(heard)),
        "tasks/get" => Some(vec![heard.answer(state("failed"))]),
        "tasks/result" => Some(vec![heard.refuse(-32603, "the disk is full")]),
        _ => None,
    });
    let client = connect_to(&failed, plain()).await.unwrap();
    let error = client.call_tool("required", &()).await.unwrap_err();
    assert_eq!(error.error_response().unwrap().message, "the disk is full");
    assert_eq!(failed.messages_of("tasks/result").len(), 1);
    assert!(failed.messages_of("tasks/cancel").is_empty());

    let cancelled = peer(all(), &["working", "cancelled"]);
    let client = connect_to(&cancelled, plain()).await.unwrap();
    let error = client.call_tool("required", &()).await.unwrap_err();
    assert!(matches!(error, Error::TaskCancelled { .. }), "{error}");
    assert!(cancelled.messages_of("tasks/result").is_empty());
}

// requirement: 0428200dfa3e
#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_call_cancels_its_task() {
    for (tasks, cancels) in [
        (all(), 1),
        (json!({"requests": {"tools": {"call": {}}}}), 0),
    ] {
        let peer = peer(tasks, &["working"]);
        let client = connect_to(&peer, plain()).await.unwrap();
        client.list_tools().fetch_all().await.unwrap();
        let call = client.call_tool("required", &());
        let error = call
            .total_timeout(Duration::from_secs(9))
            .await
            .unwrap_err();
        assert!(error.is_timeout(), "{error}");
        assert_eq!(peer.messages_of("tasks/cancel").len(), cancels);
    }
}

// requirement: c8dc82653282
#[tokio::test(start_paused = true)]
async fn the_tasks_of_a_client_are_listed_in_pages() {
    let peer = Peer::new(LEGACY, |heard| match heard.method() {
        "initialize" => Some(initialized(heard, &all())),
        "tasks/list" => Some(match heard.message["params"].get("cursor") {
            None => vec![heard.answer(json!({"tasks": [state("working")], "nextCursor": "c"}))],
            Some(_) => vec![heard.answer(json!({"tasks": [state("failed")]}))],
        }),
        _ => None,
    });
    let client = connect_to(&peer, plain()).await.unwrap();
    let listed = client.list_tasks().fetch_all().await.unwrap();
    let states: Vec<_> = listed.iter().map(|task| task.status.as_str()).collect();
    assert_eq!(states, ["working", "failed"]);

    let modern = Peer::new(Revision::NEWEST, |_| None);
    let client = connect_to(&modern, plain()).await.unwrap();
    let error = client.list_tasks().fetch_all().await.unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

/// Creates a server that asks while the client waits for the result: `tasks/result` is answered a long time
/// after the answer to its question.
fn asking_peer() -> Peer {
    let waiting = Mutex::new(Value::Null);
    let is_answered = AtomicUsize::new(0);
    Peer::new(LEGACY, move |heard| match heard.method() {
        "initialize" => Some(initialized(heard, &all())),
        "tools/list" => Some(tools(heard)),
        "tools/call" => Some(call_answer(heard)),
        "tasks/get" => {
            let status = ["input_required", "working"][is_answered.load(Ordering::Relaxed)];
            Some(vec![heard.answer(state(status))])
        }
        "tasks/result" => {
            *waiting.lock().unwrap() = heard.id().clone();
            Some(vec![Step::Say(
                json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                "params": {"message": "?", "mode": "form",
                    "requestedSchema": {"type": "object",
                        "properties": {"name": {"type": "string"}}},
                    "_meta": {"io.modelcontextprotocol/related-task": {"taskId": ID}}}}),
            )])
        }
        "" if *heard.id() == "q" => {
            is_answered.store(1, Ordering::Relaxed);
            let name = heard.message["result"]["content"]["name"].clone();
            let result = json!({"content": [{"type": "text", "text": name}]});
            let id = waiting.lock().unwrap().clone();
            Some(vec![
                Step::Wait(Duration::from_secs(300)),
                Step::Say(json!({"jsonrpc": "2.0", "id": id, "result": result})),
            ])
        }
        _ => None,
    })
}

// requirement: 2b365352c448
#[tokio::test(start_paused = true)]
async fn a_task_asks_while_its_result_is_waited_for() {
    let peer = asking_peer();
    let builder =
        plain().on_form(async |_: Form, _: QuestionContext| FormAnswer::accept([("name", "Ada")]));
    let client = connect_to(&peer, builder).await.unwrap();
    let result = client.call_tool("required", &()).await.unwrap();
    assert_eq!(result.text(), "Ada");
    assert_eq!(
        peer.messages_of("tasks/result").len(),
        1,
        "it has no idle timeout"
    );
    assert!(
        peer.messages_of("tasks/get").len() > 1,
        "the state is watched"
    );
    let task = client.task(
        format!("2025-11-25/t/{ID}")
            .parse::<turnbuckle_client::TaskHandle>()
            .unwrap(),
    );
    let answers = InputResponses::from([("a", Json::empty_object())]);
    let error = task.answer(answers).await.unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}
