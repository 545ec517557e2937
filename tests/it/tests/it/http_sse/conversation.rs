//! Tests of the messages over a connection.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_http::HttpServerOptions;
use turnbuckle_it::harness::modern_meta;
use turnbuckle_it::web::Web;
use turnbuckle_wire::revision::Revision;

use super::{SseConnection, legacy};
use crate::asking;
use crate::http::{busy, step_of};
use crate::servers::{echo, full_server};
use crate::support::able;

#[tokio::test(start_paused = true)]
async fn every_revision_with_a_handshake_is_spoken() {
    for revision in legacy() {
        let mut connection =
            SseConnection::connect(Web::sse(&echo(), HttpServerOptions::new())).await;
        connection.initialize(revision, json!({})).await;
        connection.call(1, "echo", json!({"text": "hello"})).await;
        let answer = connection.stream.message().await;
        assert_eq!(answer["result"]["content"][0]["text"], "hello");
    }
}

#[tokio::test(start_paused = true)]
async fn http_sse_answers_requests_with_an_envelope() {
    let mut connection = SseConnection::connect(Web::sse(&echo(), HttpServerOptions::new())).await;
    let meta = Value::from(modern_meta(Revision::NEWEST, &json!({})));
    let params = json!({"name": "echo", "arguments": {"text": "hello"}, "_meta": meta});
    connection.request(1, "tools/call", params).await;
    let answer = connection.stream.message().await;
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    // And nothing else without a handshake.
    connection.request(2, "tools/list", json!({})).await;
    assert!(connection.stream.message().await["error"]["code"].is_number());
}

#[tokio::test(start_paused = true)]
async fn progress_comes_before_the_answer() {
    let mut connection = SseConnection::open(&busy()).await;
    connection
        .call(1, "count", json!({"to": 3, "seconds": 5}))
        .await;
    let mut steps = Vec::new();
    let answer = loop {
        let message = connection.stream.message().await;
        if message["id"] == 1 {
            break message;
        }
        steps.extend(step_of(&message));
    };
    assert_eq!(steps, [1, 2, 3]);
    assert!(answer["result"].is_object(), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn notifications_without_a_request_arrive_over_http_sse() {
    let mut connection = SseConnection::open(&full_server()).await;
    connection.call(1, "talk", json!({})).await;
    let mut methods = Vec::new();
    for event in connection.stream.within(Duration::from_secs(1)).await {
        let message = event.unwrap().message().unwrap();
        methods.extend(message["method"].as_str().map(str::to_owned));
    }
    for changed in ["tools", "prompts", "resources"] {
        let method = format!("notifications/{changed}/list_changed");
        assert!(methods.contains(&method), "{method}: {methods:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_client_is_asked_and_answers() {
    for revision in legacy() {
        for kind in ["form", "sample", "roots"] {
            if kind == "form" && !revision.features().elicitation {
                continue;
            }
            let mut connection =
                SseConnection::connect(Web::sse(&asking::server(), HttpServerOptions::new())).await;
            connection.initialize(revision, able(revision)).await;
            connection.call(1, "ask", json!({"kinds": kind})).await;
            let asked = connection.stream.message().await;
            let method = asked["method"].as_str().unwrap();
            let result = asking::good_answer(method, &asked["params"]);
            connection
                .post_message(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
                .await;
            let answer = connection.stream.message().await;
            assert_eq!(answer["id"], 1, "{revision} {kind}");
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with(&format!("{kind}={{")), "{text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_cancelled_by_a_message() {
    let mut connection = SseConnection::open(&echo()).await;
    connection.call(1, "sleep", json!({"seconds": 50})).await;
    let params = json!({"requestId": 1});
    connection
        .post_message(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        )
        .await;
    connection.call(2, "sleep", json!({"seconds": 100})).await;
    let answer = connection.stream.message().await;
    assert_eq!(answer["id"], 2, "nothing is said of what was cancelled");
}
