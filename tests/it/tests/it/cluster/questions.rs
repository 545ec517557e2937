//! Questions of one instance whose answers come to another one, and cancellations.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::faulty_store::Fault;
use turnbuckle_it::web::sessions;
use turnbuckle_store::StoreErrorKind;
use turnbuckle_wire::revision::Revision;

use super::{ping, two};

const LEGACY: Revision = Revision::NEWEST_LEGACY;

fn answer(id: &Value) -> Value {
    let roots = json!([{"uri": "file:///r"}]);
    json!({"jsonrpc": "2.0", "id": id, "result": {"roots": roots}})
}

#[tokio::test(start_paused = true)]
async fn an_answer_reaches_the_instance_that_asked() {
    for revision in sessions() {
        let (one, two) = two().await;
        let session = one.web.open_able(revision, json!({"roots": {}})).await;
        let there = session.with_web(&two.web);
        let mut events = session.call_tool(1, "roots", &json!({})).events().await;
        let question = events.message().await;
        assert_eq!(question["method"], "roots/list");
        assert_eq!(
            there.post(&answer(&question["id"])).send().await.status,
            202
        );
        let result = events.message().await;
        let text = result["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("file:///r"), "{revision}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_ids_of_questions_never_repeat_in_a_session() {
    let (one, two) = two().await;
    let session = one.web.open_able(LEGACY, json!({"roots": {}})).await;
    let mut ids = Vec::new();
    for round in 0..6 {
        let at = session.with_web(if round % 2 == 0 { &one.web } else { &two.web });
        let mut events = at.call_tool(round, "roots", &json!({})).events().await;
        let question = events.message().await;
        ids.push(question["id"].clone());
        assert_eq!(at.post(&answer(&question["id"])).send().await.status, 202);
        events.message().await;
    }
    ids.dedup();
    let distinct: std::collections::BTreeSet<String> = ids.iter().map(Value::to_string).collect();
    assert_eq!(distinct.len(), 6, "{ids:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_a_batch_reaches_the_instance_that_asked() {
    let batching = sessions().into_iter().find(|it| it.features().batching);
    let (one, two) = two().await;
    let session = one
        .web
        .open_able(batching.unwrap(), json!({"roots": {}}))
        .await;
    let mut events = session.call_tool(1, "roots", &json!({})).events().await;
    let question = events.message().await;
    let batch = json!([answer(&question["id"])]);
    assert_eq!(
        session.with_web(&two.web).post(&batch).send().await.status,
        202
    );
    let result = events.message().await;
    assert!(
        result["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("file:///r")
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_reaches_the_instance_that_serves_the_request() {
    for revision in sessions() {
        let (one, two) = two().await;
        let session = one.web.open(revision).await;
        let there = session.with_web(&two.web);
        let hold = session.call_tool(7, "hold", &json!({})).events().await;
        let cancelled = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7},
        });
        assert_eq!(there.post(&cancelled).send().await.status, 202);
        assert!(
            hold.messages().await.is_empty(),
            "{revision}: no answer is wanted"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_waits_for_is_accepted() {
    let (one, two) = two().await;
    let session = one.web.open(LEGACY).await;
    for id in ["abcdefgh.1", "abcdefgh.99999999999", "17", "x", ""] {
        let there = session.with_web(&two.web).post(&answer(&json!(id)));
        assert_eq!(there.send().await.status, 202, "{id}");
    }
    assert_eq!(ping(&session).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_arrive_is_refused_so_that_it_is_sent_again() {
    let (one, two) = two().await;
    let session = one.web.open_able(LEGACY, json!({"roots": {}})).await;
    let there = session.with_web(&two.web);
    let mut events = session.call_tool(1, "roots", &json!({})).events().await;
    let question = events.message().await;
    assert_eq!(ping(&there).await.0, 200);
    let unavailable = Fault::Error(StoreErrorKind::Unavailable);
    two.line.fail("publish", unavailable);
    let refused = there.post(&answer(&question["id"])).send().await;
    assert_eq!(refused.status, 503);
    assert!(refused.header("retry-after").is_some());
    two.line.heal();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        there.post(&answer(&question["id"])).send().await.status,
        202
    );
    let result = events.message().await;
    assert!(
        result["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("file:///r")
    );
}
