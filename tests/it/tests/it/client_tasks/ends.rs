//! The ends of tasks, and of waits for them.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use turnbuckle_client::Error;
use turnbuckle_session::transport::{TimeoutKind, Timeouts};

use super::{connect, nth, result_state, start, state, task_peer, working};

#[tokio::test(start_paused = true)]
async fn a_failed_task_is_the_error_of_its_call() {
    let error = json!({"code": -32603, "message": "the disk is full", "data": {"a": 1.50}});
    let peer = task_peer(nth(vec![
        working(),
        state("failed", json!({"error": error})),
    ]));
    let client = connect(&peer).await;
    for outcome in [client.call_tool("t", &()).await, start(&client).await.await] {
        match outcome.unwrap_err() {
            Error::ErrorResponse(refusal) => {
                assert_eq!(
                    (refusal.code, &*refusal.message),
                    (-32603, "the disk is full")
                );
                assert_eq!(refusal.data.unwrap().as_str(), r#"{"a":1.5}"#);
            }
            other => panic!("{other}"),
        }
    }
    assert!(peer.messages_of("tasks/cancel").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_failed_is_a_result() {
    let result = json!({"isError": true, "content": [{"type": "text", "text": "no"}]});
    let peer = task_peer(nth(vec![state("completed", json!({"result": result}))]));
    let result = connect(&peer).await.call_tool("t", &()).await.unwrap();
    assert!(result.is_error());
    assert_eq!(result.text(), "no");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_is_an_error_with_the_words_of_the_server() {
    let cancelled = state("cancelled", json!({"statusMessage": "by the operator"}));
    let peer = task_peer(nth(vec![working(), cancelled]));
    let error = connect(&peer).await.call_tool("t", &()).await.unwrap_err();
    assert_eq!(error.to_string(), "the task was cancelled: by the operator");
    assert!(peer.messages_of("tasks/cancel").is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_call_cancels_its_task_and_that_of_a_started_task_does_not() {
    let peer = task_peer(|_| working());
    let client = connect(&peer).await;
    let began = Instant::now();
    let limit = Duration::from_secs(11);
    let call = client.call_tool("t", &()).total_timeout(limit);
    let error = call.await.unwrap_err();
    assert!(
        matches!(error, Error::TimedOut(TimeoutKind::Total(time)) if time == limit),
        "{error}"
    );
    assert_eq!(began.elapsed(), limit);
    assert_eq!(peer.messages_of("tasks/cancel").len(), 1);
    assert_eq!(peer.messages_of("tasks/get").len(), 5);

    let task = start(&client).await.timeouts(Timeouts::uniform(limit));
    let began = Instant::now();
    let error = task.await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(began.elapsed(), limit);
    assert_eq!(peer.messages_of("tasks/cancel").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_cancelled_when_that_is_asked_for() {
    let peer = task_peer(|_| working());
    let task = start(&connect(&peer).await).await;
    task.cancel().await.unwrap();
    let cancelled = peer.messages_of("tasks/cancel");
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0].message["params"]["taskId"], super::ID);
}

#[tokio::test(start_paused = true)]
async fn a_result_of_a_task_is_held_against_the_schema_of_its_tool() {
    let peer =
        turnbuckle_it::peer::Peer::new(turnbuckle_wire::revision::Revision::NEWEST, |heard| {
            match heard.method() {
                "server/discover" => Some(super::discovery(
                    heard,
                    &json!({turnbuckle_types::TASKS_EXTENSION: {}}),
                )),
                "tools/list" => Some(super::complete(
                    heard,
                    json!({"tools": [{"name": "t", "inputSchema": {"type": "object"},
                    "outputSchema": {"type": "object", "required": ["n"]}}],
                    "ttlMs": 0, "cacheScope": "private"}),
                )),
                "tools/call" => Some(super::created(heard, working())),
                "tasks/get" => {
                    let result = json!({"content": [], "structuredContent": {"m": 1}});
                    let state = state("completed", json!({"result": result}));
                    Some(super::complete(heard, state))
                }
                _ => None,
            }
        });
    let client = connect(&peer).await;
    client.list_tools().fetch_all().await.unwrap();
    for outcome in [client.call_tool("t", &()).await, start(&client).await.await] {
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::OutputMismatch { .. }), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_had_ended_when_it_was_created_is_asked_for_at_once() {
    let peer = task_peer(nth(vec![result_state("done")]));
    let ended = turnbuckle_it::peer::Peer::new(peer.revision(), |heard| match heard.method() {
        "server/discover" => Some(super::discovery(
            heard,
            &json!({turnbuckle_types::TASKS_EXTENSION: {}}),
        )),
        "tools/call" => Some(super::created(heard, state("completed", json!({})))),
        "tasks/get" => Some(super::complete(heard, result_state("done"))),
        _ => None,
    });
    let began = Instant::now();
    let result = connect(&ended).await.call_tool("t", &()).await.unwrap();
    assert_eq!(result.text(), "done");
    assert!(began.elapsed() < Duration::from_millis(100));
}
