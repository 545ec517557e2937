//! Servers whose tasks are malformed, not agreed on, or without an end.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use turnbuckle_client::{ClientBuilder, Error, Form, FormAnswer, QuestionContext};
use turnbuckle_it::coupled::connect_to;
use turnbuckle_it::peer::Peer;
use turnbuckle_types::TASKS_EXTENSION;
use turnbuckle_wire::revision::Revision;

use super::{
    complete, connect, created, discovery, nth, result_state, start, state, task_peer, working,
};
use crate::client_support::plain;

/// Creates a server with these extensions that answers every request with a task.
fn eager(extensions: Value, task: Value) -> Peer {
    Peer::new(Revision::NEWEST, move |heard| match heard.method() {
        "server/discover" => Some(discovery(heard, &extensions)),
        "tasks/get" => Some(complete(heard, result_state("done"))),
        _ => Some(created(heard, task.clone())),
    })
}

async fn call(peer: &Peer, builder: ClientBuilder) -> String {
    let client = connect_to(peer, builder).await.unwrap();
    let error = client.call_tool("t", &()).await.unwrap_err();
    assert!(matches!(error, Error::InvalidResult { .. }), "{error}");
    error.to_string()
}

// requirement: 25c760969f60
#[tokio::test(start_paused = true)]
async fn a_task_that_was_not_agreed_on_is_an_invalid_result() {
    let declared = || json!({TASKS_EXTENSION: {}});
    let silent = eager(json!({}), working());
    assert!(call(&silent, plain()).await.contains("not agreed on"));
    let agreed = eager(declared(), working());
    let refusal = call(&agreed, plain().tasks(false)).await;
    assert!(refusal.contains("not agreed on"), "{refusal}");
    let called = &agreed.messages_of("tools/call")[0].message["params"]["_meta"];
    let capabilities = &called["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(capabilities.get("extensions"), None);

    let client = connect(&agreed).await;
    let read = client.read_resource("a:b").await;
    let error = read.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("not agreed on"), "{error}");
    for peer in [silent, agreed] {
        assert!(peer.messages_of("tasks/get").is_empty());
        assert!(peer.messages_of("tasks/cancel").is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn ids_are_bounded() {
    for (bytes, is_valid) in [
        (0, false),
        (1, true),
        (4096, true),
        (4097, false),
        (1 << 19, false),
    ] {
        let id = "i".repeat(bytes);
        let task = state("working", json!({"taskId": id}));
        let ended = state(
            "completed",
            json!({"taskId": id, "result": {"content": []}}),
        );
        let peer = Peer::new(Revision::NEWEST, move |heard| match heard.method() {
            "server/discover" => Some(discovery(heard, &json!({TASKS_EXTENSION: {}}))),
            "tasks/get" => Some(complete(heard, ended.clone())),
            _ => Some(created(heard, task.clone())),
        });
        if is_valid {
            let client = connect(&peer).await;
            let result = client.call_tool("t", &()).await;
            assert!(result.is_ok(), "{bytes}: {result:?}");
        } else {
            assert!(call(&peer, plain()).await.contains("bytes"), "{bytes}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_states_are_invalid_results() {
    for bad in [
        json!({}),
        state("completed", json!({})),
        state("completed", json!({"result": 1})),
        state("completed", json!({"result": {"content": 1}})),
        state(
            "completed",
            json!({"result": {"content": [], "resultType": "task"}}),
        ),
        state(
            "completed",
            json!({"result": {"resultType": "input_required"}}),
        ),
        state("failed", json!({"error": "no"})),
        state(
            "input_required",
            json!({"inputRequests": {"a": {"method": "elicitation/create"}}}),
        ),
        state("done", json!({})),
        state("working", json!({"taskId": "another"})),
    ] {
        let peer = task_peer(nth(vec![bad]));
        call(&peer, plain()).await;
    }
    // The server says of a state that it is a task.
    let peer = Peer::new(Revision::NEWEST, |heard| match heard.method() {
        "server/discover" => Some(discovery(heard, &json!({TASKS_EXTENSION: {}}))),
        _ => Some(created(heard, working())),
    });
    assert!(call(&peer, plain()).await.contains("tasks/get"));
}

#[tokio::test(start_paused = true)]
async fn mad_intervals_are_bounded() {
    for (millis, seconds) in [
        (json!(0), 1),
        (json!(-5), 1),
        (json!(1e300), 3000),
        (json!(u64::MAX), 3000),
    ] {
        let mad = state(
            "working",
            json!({"pollIntervalMs": millis, "ttlMs": millis}),
        );
        let states = move |number| match number {
            0..=9 => mad.clone(),
            _ => result_state("done"),
        };
        let peer = task_peer(states);
        let client = connect(&peer).await;
        let began = Instant::now();
        let result = client.call_tool("t", &()).await.unwrap();
        assert_eq!(result.text(), "done");
        let took = began.elapsed() - Duration::from_secs(2);
        assert_eq!(took.as_secs(), seconds, "{millis}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_without_an_end_ends_with_the_default_timeout() {
    let peer = task_peer(|_| working());
    let client = connect(&peer).await;
    let began = Instant::now();
    let error = client.call_tool("t", &()).await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(began.elapsed(), Duration::from_secs(3600));
    assert_eq!(peer.messages_of("tasks/cancel").len(), 1);
    let error = start(&client).await.await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
}

fn with_form() -> ClientBuilder {
    plain().on_form(async |_: Form, _: QuestionContext| FormAnswer::Decline)
}

fn asking(keys: impl Iterator<Item = String>) -> Value {
    let form = json!({"method": "elicitation/create", "params": {"message": "?",
        "requestedSchema": {"type": "object", "properties": {}}}});
    let requests: serde_json::Map<_, _> = keys.map(|key| (key, form.clone())).collect();
    state("input_required", json!({"inputRequests": requests}))
}

#[tokio::test(start_paused = true)]
async fn endless_questions_end_the_call() {
    let peer = task_peer(|number| asking(std::iter::once(format!("key {number}"))));
    let client = connect_to(&peer, with_form().max_input_rounds(3))
        .await
        .unwrap();
    let error = client.call_tool("t", &()).await.unwrap_err();
    assert!(
        matches!(error, Error::TooManyInputRounds { limit: 3 }),
        "{error}"
    );
    assert_eq!(peer.messages_of("tasks/update").len(), 3);
    assert_eq!(peer.messages_of("tasks/cancel").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn so_many_questions_at_once_are_refused() {
    let peer = task_peer(|_| asking((0..33).map(|number| format!("key {number}"))));
    let client = connect_to(&peer, with_form()).await.unwrap();
    let error = client.call_tool("t", &()).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("ClientLimits::max_input_requests"),
        "{error}"
    );
    assert!(peer.messages_of("tasks/update").is_empty());
}
