//! Our client with scripted servers that make tasks of calls.

mod core;
mod coupled;
mod ends;
mod hostile;
mod questions;
mod receiver;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use turnbuckle_client::{Client, Progress, RunningTask, Started};
use turnbuckle_it::coupled::connect_to;
use turnbuckle_it::faults::PeerTransport;
use turnbuckle_it::peer::{Peer, ReceivedMessage, Step};
use turnbuckle_types::{TASKS_EXTENSION, TaskStatus};
use turnbuckle_wire::revision::Revision;

use crate::client_support::{plain, settle};

const ID: &str = "task-1";

/// Returns a state of the task, with these members beside or in the place of the usual ones.
fn state(status: &str, members: Value) -> Value {
    let mut state = json!({"taskId": ID, "status": status, "createdAt": "2026-07-28T10:00:00Z",
        "lastUpdatedAt": "2026-07-28T10:00:01Z", "ttlMs": 60_000, "pollIntervalMs": 2_000});
    for (name, value) in members.as_object().unwrap() {
        state[name] = value.clone();
    }
    state
}

fn working() -> Value {
    state("working", json!({}))
}

fn result_state(text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    state("completed", json!({"result": {"content": content}}))
}

/// Returns the result of `server/discover` with these extensions.
fn discovery(heard: &ReceivedMessage, extensions: &Value) -> Vec<Step> {
    vec![heard.answer(json!({
        "resultType": "complete", "supportedVersions": [Revision::NEWEST.as_str()],
        "capabilities": {"tools": {}, "resources": {}, "extensions": extensions},
        "ttlMs": 0, "cacheScope": "private",
    }))]
}

fn complete(heard: &ReceivedMessage, mut result: Value) -> Vec<Step> {
    result["resultType"] = "complete".into();
    vec![heard.answer(result)]
}

/// Returns the first state of a task, as the result of a call.
fn created(heard: &ReceivedMessage, mut state: Value) -> Vec<Step> {
    state["resultType"] = "task".into();
    vec![heard.answer(state)]
}

/// Creates a server that makes a task of each call. The states are those that `script` returns for the number
/// of the request for one, from 0.
fn task_peer(script: impl Fn(usize) -> Value + Send + Sync + 'static) -> Peer {
    let asked = AtomicUsize::new(0);
    Peer::new(Revision::NEWEST, move |heard| match heard.method() {
        "server/discover" => Some(discovery(heard, &json!({TASKS_EXTENSION: {}}))),
        "tools/call" => Some(created(heard, working())),
        "tasks/get" => {
            let state = script(asked.fetch_add(1, Ordering::Relaxed));
            Some(complete(heard, state))
        }
        _ => None,
    })
}

/// Returns the state of this number, or the last one.
fn nth(states: Vec<Value>) -> impl Fn(usize) -> Value + Send + Sync {
    move |number| states[number.min(states.len() - 1)].clone()
}

async fn connect(peer: &Peer) -> Client {
    connect_to(peer, plain()).await.unwrap()
}

/// Starts a call, which has to become a task.
async fn start(client: &Client) -> RunningTask {
    match client.call_tool("t", &()).start().await.unwrap() {
        Started::Task(task) => task,
        Started::Done(result) => panic!("{result:?}"),
    }
}

async fn read(mut progress: Progress) -> Vec<(f64, String)> {
    let mut all = Vec::new();
    while let Some(one) = progress.next().await {
        all.push((one.progress.as_f64(), one.message.unwrap_or_default()));
    }
    all
}

// requirement: 13a329638bb4 52450d0dc472 d5b3e2aecdb6
#[tokio::test(start_paused = true)]
async fn a_call_waits_through_its_task_in_the_interval_of_the_server() {
    for transport in [PeerTransport::Lines, PeerTransport::Web] {
        let later = state("working", json!({"pollIntervalMs": 7_000}));
        let peer = task_peer(nth(vec![working(), later, result_state("done")]));
        let client = transport.connect(&peer).await;
        let began = Instant::now();
        let result = client.call_tool("t", &()).await.unwrap();
        assert_eq!(result.text(), "done");
        assert_eq!(began.elapsed().as_secs(), 2 + 2 + 7);
        assert_eq!(peer.messages_of("tasks/get").len(), 3);
        assert_eq!(peer.messages_of("tools/call").len(), 1);
        for asked in peer.messages_of("tasks/get") {
            assert_eq!(asked.message["params"]["taskId"], ID);
        }
        let call = &peer.messages_of("tools/call")[0].message["params"];
        let declared = &call["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"];
        assert_eq!(declared[TASKS_EXTENSION], json!({}));
        assert_eq!(call.get("task"), None);
        assert!(peer.messages_of("tasks/cancel").is_empty());
        assert_eq!(client.in_flight(), Default::default());
    }
}

#[tokio::test(start_paused = true)]
async fn status_messages_are_progress_of_the_call() {
    let said = |message: &str| state("working", json!({"statusMessage": message}));
    let peer = task_peer(nth(vec![
        said("one"),
        said("one"),
        working(),
        said("two"),
        result_state(""),
    ]));
    let client = connect(&peer).await;
    let (call, progress) = client.call_tool("t", &()).with_progress();
    let (result, heard) = tokio::join!(call, read(progress));
    result.unwrap();
    assert_eq!(heard, [(1.0, "one".to_owned()), (2.0, "two".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn another_client_goes_on_with_the_text_of_a_task() {
    for transport in [PeerTransport::Lines, PeerTransport::Web] {
        let peer = task_peer(nth(vec![working(), result_state("done")]));
        let first = transport.connect(&peer).await;
        let text = start(&first).await.to_string();
        assert_eq!(text, format!("{}/t/{ID}", Revision::NEWEST));
        first.close().await;
        assert!(peer.messages_of("tasks/cancel").is_empty());

        let second = transport.connect(&peer).await;
        let task = second.task(text.parse::<turnbuckle_client::TaskHandle>().unwrap());
        assert_eq!(task.handle().tool(), "t");
        let state = task.status().await.unwrap().task;
        assert_eq!(state.status, TaskStatus::Working);
        assert_eq!(task.await.unwrap().text(), "done");
        assert_eq!(peer.messages_of("tools/call").len(), 1);
    }
}

// requirement: 13a329638bb4
#[tokio::test(start_paused = true)]
async fn a_call_without_a_task_is_started_and_done() {
    let peer = Peer::new(Revision::NEWEST, |heard| match heard.method() {
        "server/discover" => Some(discovery(heard, &json!({TASKS_EXTENSION: {}}))),
        _ => None,
    });
    let client = connect(&peer).await;
    match client.call_tool("t", &()).start().await.unwrap() {
        Started::Done(result) => assert_eq!(result.text(), "sound"),
        Started::Task(task) => panic!("{task}"),
    }
}

#[tokio::test(start_paused = true)]
async fn each_state_of_a_task_is_reported_once() {
    let said = state("working", json!({"statusMessage": "on"}));
    let peer = task_peer(nth(vec![
        working(),
        working(),
        said.clone(),
        said,
        result_state("done"),
    ]));
    let client = connect(&peer).await;
    let mut changes = start(&client).await.changes();
    let mut heard = Vec::new();
    while let Some(state) = changes.next().await {
        let state = state.unwrap();
        heard.push((state.task.status, state.task.status_message));
    }
    let on = || Some("on".to_owned());
    assert_eq!(
        heard,
        [
            (TaskStatus::Working, None),
            (TaskStatus::Working, on()),
            (TaskStatus::Completed, None)
        ]
    );
    assert!(changes.next().await.is_none());
    assert_eq!(peer.messages_of("tasks/get").len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_does_not_end_a_wait_and_the_call_is_not_repeated() {
    for transport in [PeerTransport::Lines, PeerTransport::Web] {
        let asked = Arc::new(AtomicUsize::new(0));
        let peer = Peer::new(Revision::NEWEST, move |heard| match heard.method() {
            "server/discover" => Some(discovery(heard, &json!({TASKS_EXTENSION: {}}))),
            "tools/call" => Some(created(heard, working())),
            "tasks/get" => Some(match asked.fetch_add(1, Ordering::Relaxed) {
                // The client repeats the request by itself once.
                0..=2 => vec![Step::Break],
                _ => complete(heard, result_state("done")),
            }),
            _ => None,
        });
        let client = transport.connect(&peer).await;
        let called = client.call_tool("t", &()).await.unwrap();
        assert_eq!(called.text(), "done");
        assert_eq!(peer.messages_of("tools/call").len(), 1);
        assert_eq!(peer.messages_of("tasks/get").len(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn layers_see_the_call_and_no_requests_about_its_task() {
    use turnbuckle_client::service::{ClientRequest, ClientService, from_fn};

    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let record = seen.clone();
    let layer = from_fn(move |request: ClientRequest, next: ClientService| {
        record.lock().unwrap().push(request.method().to_owned());
        async move { next.run(request).await }
    });
    let peer = task_peer(nth(vec![working(), result_state("done")]));
    let client = connect_to(&peer, plain().layer(layer)).await.unwrap();
    assert_eq!(client.call_tool("t", &()).await.unwrap().text(), "done");
    assert_eq!(start(&client).await.await.unwrap().text(), "done");
    assert_eq!(*seen.lock().unwrap(), ["tools/call", "tools/call"]);
}

// requirement: 17ed6f9f1109
#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_cancels_its_task_and_a_started_task_goes_on() {
    let peer = task_peer(|_| working());
    let client = connect(&peer).await;
    let call = tokio::spawn(client.call_tool("t", &()).into_future());
    tokio::time::sleep(Duration::from_secs(5)).await;
    call.abort();
    settle().await;
    let cancelled = peer.messages_of("tasks/cancel");
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0].message["params"]["taskId"], ID);

    let task = start(&client).await;
    let wait = tokio::spawn(task.clone().into_future());
    tokio::time::sleep(Duration::from_secs(5)).await;
    wait.abort();
    drop(task);
    settle().await;
    assert_eq!(peer.messages_of("tasks/cancel").len(), 1);

    let task = start(&client).await.cancel_on_drop();
    let wait = tokio::spawn(task.clone().into_future());
    settle().await;
    wait.abort();
    settle().await;
    assert_eq!(peer.messages_of("tasks/cancel").len(), 1, "a clone is left");
    drop(task);
    settle().await;
    assert_eq!(peer.messages_of("tasks/cancel").len(), 2);
}
