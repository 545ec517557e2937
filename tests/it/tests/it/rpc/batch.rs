//! Several messages as one array.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_session::handler::Limits;
use turnbuckle_wire::revision::Revision;

use crate::servers::echo;

fn batching() -> Vec<Case> {
    let batching = |revision: &Revision| revision.features().batching;
    Case::with_revisions(Revision::ALL.into_iter().filter(batching))
}

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn nap(id: i64, seconds: u64) -> Value {
    let call = json!({"name": "sleep", "arguments": {"seconds": seconds}});
    request(id, "tools/call", call)
}

// requirement: 113502c8a07a 17c01887ebac
#[tokio::test(start_paused = true)]
async fn a_batch_is_answered_as_one() {
    for case in batching() {
        let mut client = Client::connect(case, &echo()).await;
        let start = Instant::now();
        let batch = json!([
            request(50, "ping", json!({})),
            nap(51, 10),
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
            request(52, "nobody/knows", json!({})),
            nap(53, 10),
            {"jsonrpc": "2.0", "id": {}, "method": "ping"},
            5,
        ]);
        client.send(&batch).await;
        let answers = answers(&mut client, 6).await;
        assert_eq!(start.elapsed(), Duration::from_secs(10), "they run at once");
        let mut results: Vec<(Value, Value)> = answers
            .iter()
            .map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()))
            .collect();
        results.sort_by_key(|(id, _)| id.as_i64());
        let none = Value::Null;
        assert_eq!(
            results,
            [
                (none.clone(), json!(-32600)),
                (none.clone(), json!(-32600)),
                (json!(50), none.clone()),
                (json!(51), none.clone()),
                (json!(52), json!(-32601)),
                (json!(53), none.clone()),
            ]
        );
        client.expect_silence().await;
    }
}

/// Returns the answers to a batch: one array, or one after another if they come as a stream.
async fn answers(client: &mut Client, count: usize) -> Vec<Value> {
    let mut answers = Vec::new();
    while answers.len() < count {
        match serde_json::from_str(&client.next_raw().await).unwrap() {
            Value::Array(all) => {
                assert_eq!((answers.len(), all.len()), (0, count), "{all:?}");
                answers = all;
            }
            one => {
                assert_eq!(client.case().binding, Bind::Http, "no array: {one}");
                answers.push(one);
            }
        }
    }
    answers
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_wants_no_answer_gets_none() {
    for case in batching() {
        let mut client = Client::connect(case, &echo()).await;
        let quiet = json!([
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": []},
            {"jsonrpc": "2.0", "id": 5, "result": {}},
            {"jsonrpc": "2.0", "id": 6, "error": {"code": 1, "message": "m"}},
        ]);
        client.send(&quiet).await;
        client.expect_silence().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_member_leaves_the_others() {
    for case in batching() {
        let mut client = Client::connect(case, &echo()).await;
        client.send(&json!([nap(50, 10), nap(51, 10)])).await;
        client.cancel(50).await;
        let answers = answers(&mut client, 1).await;
        assert_eq!(answers[0]["id"], 51, "{case}");
        client.expect_silence().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_or_overlong_batch_is_refused() {
    for case in batching() {
        let mut limits = Limits::default();
        limits.max_batch_messages = 3;
        let options = ClientOptions::new().limits(limits);
        let mut client = Client::connect_with(case, &echo(), options).await;
        let ping = |id| request(id, "ping", json!({}));
        for batch in [json!([]), json!([ping(50), ping(51), ping(52), ping(53)])] {
            client.send(&batch).await;
            let refused: Value = serde_json::from_str(&client.next_raw().await).unwrap();
            assert_eq!(refused["error"]["code"], -32600, "{refused}");
            assert_eq!(refused["id"], Value::Null);
        }
        let answers = client
            .exchange(&json!([ping(54), ping(55), ping(56)]))
            .await;
        assert_eq!(answers.as_array().map(Vec::len), Some(3));
    }
}

// requirement: 039bbcfba34f eec68e833063
#[tokio::test(start_paused = true)]
async fn a_batch_is_refused_elsewhere() {
    let elsewhere = Revision::ALL
        .into_iter()
        .filter(|revision| !revision.features().batching);
    for case in Case::with_revisions(elsewhere) {
        let mut client = Client::connect(case, &echo()).await;
        let params = client.with_envelope(json!({}));
        let batch = json!([request(50, "tools/list", params)]);
        let refused = client.exchange(&batch).await;
        assert_eq!(refused["error"]["code"], -32600, "{case}: {refused}");
        client.expect_silence().await;
    }
}

// requirement: 296f39ac205f
#[tokio::test(start_paused = true)]
async fn initialize_in_a_batch_is_refused() {
    for case in batching() {
        let initialize = json!({
            "protocolVersion": case.revision.as_str(),
            "capabilities": {},
            "clientInfo": {"name": "tester", "version": "1"},
        });
        let opening = request(50, "initialize", initialize.clone());

        let options = ClientOptions::new().without_handshake();
        let mut client = Client::connect_with(case, &echo(), options).await;
        let refused = client.exchange(&json!([opening])).await;
        assert_eq!(refused["error"]["code"], -32600, "{case}: {refused}");
        let early = request(51, "tools/list", json!({}));
        let early = client.exchange(&early).await;
        assert_eq!(early["error"]["code"], -32600, "no session was opened");
        let opened = client.request("initialize", initialize.clone()).await;
        assert_eq!(opened["result"]["protocolVersion"], case.revision.as_str());

        let mut client = Client::connect(case, &echo()).await;
        let batch = json!([opening, request(51, "ping", json!({}))]);
        let answers = client.exchange(&batch).await;
        assert_eq!(answers[0]["id"], 50);
        assert_eq!(answers[0]["error"]["code"], -32600);
        assert_eq!(answers[1]["result"], json!({}));
    }
}
