//! Every binding carries every kind of message, both ways, and bounds what waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{Args, HandlerContext, Server, Tool};
use turnbuckle_session::handler::{Limits, Rate};
use turnbuckle_session::transport::CloseReason;

use crate::refusals::Refusals;
use crate::servers::{Text, echo, echo_builder, full_server};

fn asking() -> Server {
    let ask = async |(): (), context: HandlerContext| match context.peer() {
        Some(peer) => match peer.request::<()>("roots/list", None).await {
            Ok(roots) => roots.to_string(),
            Err(error) => error.to_string(),
        },
        None => "a modern client takes no requests".to_owned(),
    };
    echo_builder()
        .tool(Tool::builder("ask").handler(ask))
        .build()
        .unwrap()
}

// requirement: 3b4ee2ea5630 ca769137ad96
#[tokio::test(start_paused = true)]
async fn every_binding_carries_every_kind() {
    for case in Case::all() {
        let options = ClientOptions::new().progress_tokens();
        // Requests and notifications there, results, errors and notifications back.
        let mut client = Client::connect_with(case, &full_server(), options).await;
        let answer = client.request("tools/call", json!({"name": "talk"})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "talked", "{case}");
        client.next_of("notifications/progress").await;
        let answer = client.request("nobody/knows", json!({})).await;
        assert_eq!(answer["error"]["code"], -32601, "{case}");
        let nap = json!({"name": "sleep", "arguments": {"seconds": 9}});
        let nap = client.start("tools/call", nap).await;
        client.cancel(nap).await;
        client.wait(Duration::from_secs(20)).await;
        assert!(
            !client
                .received_messages()
                .iter()
                .any(|message| message["id"] == nap),
            "{case}"
        );
    }
    for case in Case::legacy() {
        // And requests back, results and errors there.
        let options = ClientOptions::new().capabilities(json!({"roots": {}}));
        let mut client = Client::connect_with(case, &asking(), options).await;
        for refuse in [false, true] {
            let call = client.start("tools/call", json!({"name": "ask"})).await;
            let asked = client.next_of("roots/list").await;
            let expected = if refuse {
                client.answer_error(&asked["id"], -1, "no").await;
                "the client refused: no"
            } else {
                client.answer(&asked["id"], json!({"roots": []})).await;
                r#"{"roots":[]}"#
            };
            let answer = client.response(call).await;
            assert_eq!(answer["result"]["content"][0]["text"], expected, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_message_arrives_whole() {
    for case in Case::all() {
        let mut client = Client::connect(case, &echo()).await;
        let text = "ä\u{2028}\n\"\\".repeat(50_000);
        let call = json!({"name": "echo", "arguments": {"text": text}});
        let answer = client.request("tools/call", call).await;
        assert_eq!(answer["result"]["content"][0]["text"], text, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_requests_at_once_are_all_answered() {
    for case in Case::all() {
        let mut client = Client::connect(case, &echo()).await;
        let mut ids = Vec::new();
        for n in 0..300 {
            let call = json!({"name": "echo", "arguments": {"text": n.to_string()}});
            ids.push((n, client.start("tools/call", call).await));
        }
        for (n, id) in ids.into_iter().rev() {
            let answer = client.response(id).await;
            let text = &answer["result"]["content"][0]["text"];
            assert_eq!(text, &json!(n.to_string()), "{case}");
        }
        client.expect_silence().await;
    }
}

/// Returns the number of messages that a handler can send while the client does not read. In the
/// end all of them arrive, in order.
async fn said_to_nobody(case: Case, queue_bytes: usize) -> usize {
    const ALL: i64 = 2000;
    let messages = Arc::new(AtomicUsize::new(0));
    let count = messages.clone();
    let flood = move |Args(what): Args<Text>, context: HandlerContext| {
        let count = count.clone();
        async move {
            for step in 1..=ALL {
                let text = what.text.clone();
                context.progress_message(step, None, text).await;
                count.fetch_add(1, Ordering::Relaxed);
            }
            "done"
        }
    };
    let server = echo_builder().tool(Tool::builder("flood").handler(flood));
    let server = server.build().unwrap();
    let limits = Limits::new().max_queue_bytes(queue_bytes);
    let limits = limits.progress_rate(Rate::UNLIMITED);
    let options = ClientOptions::new().limits(limits).progress_tokens();
    let mut client = Client::connect_with(case, &server, options).await;
    let call = json!({"name": "flood", "arguments": {"text": "x".repeat(1000)}});
    let flood = client.start("tools/call", call).await;
    // Less than the time after which a client that reads nothing is cut off.
    tokio::time::sleep(Duration::from_secs(30)).await;
    let to_nobody = messages.load(Ordering::Relaxed);
    client.response(flood).await;
    let came = client.messages().await;
    let values = came.iter().map(|message| &message["params"]["progress"]);
    assert!(
        values.eq((1..=ALL).map(Value::from).collect::<Vec<_>>().iter()),
        "{case}"
    );
    to_nobody
}

#[tokio::test(start_paused = true)]
async fn a_handler_waits_for_a_slow_reader() {
    for case in Case::duplex(Case::all())
        .into_iter()
        .filter(|case| case.revision.features().progress_message)
    {
        let few = said_to_nobody(case, 10_000).await;
        let more = said_to_nobody(case, 210_000).await;
        // Each of more than a thousand bytes. The queue is behind the transport, which takes as much.
        assert!(more < 2000, "{case}: {more}");
        assert!((150..400).contains(&(more - few)), "{case}: {few}, {more}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_answers_the_requests_before_it() {
    let refusals = Refusals::start();
    for case in Case::duplex(Case::all()) {
        let mut limits = Limits::default();
        limits.drain_timeout = Duration::from_secs(10);
        let options = ClientOptions::new().limits(limits);
        let mut client = Client::connect_with(case, &echo(), options).await;
        let nap = |seconds: u64| json!({"name": "sleep", "arguments": {"seconds": seconds}});
        let short = client.start("tools/call", nap(5)).await;
        let long = client.start("tools/call", nap(50)).await;
        client.close();
        let answer = client.response(short).await;
        assert_eq!(answer["result"]["content"][0]["text"], "slept", "{case}");
        assert!(
            matches!(client.closed().await, CloseReason::ByPeer),
            "{case}"
        );
        let answered = |message: &Value| message["id"] == long;
        assert!(!client.received_messages().iter().any(answered), "{case}");
    }
    let connections = Case::duplex(Case::all()).len();
    assert_eq!(refusals.count("Limits::drain_timeout"), connections);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_connection_at_once() {
    for case in Case::duplex(Case::all()) {
        let mut client = Client::connect(case, &echo()).await;
        let nap = json!({"name": "sleep", "arguments": {"seconds": 50}});
        client.start("tools/call", nap).await;
        client.settle().await;
        let start = tokio::time::Instant::now();
        client.server_stop().cancel();
        assert!(
            matches!(client.closed().await, CloseReason::ByServer),
            "{case}"
        );
        assert_eq!(start.elapsed(), Duration::ZERO, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_read_when_the_table_is_full() {
    for case in Case::legacy() {
        let mut limits = Limits::default();
        limits.max_in_flight = 2;
        let options = ClientOptions::new()
            .capabilities(json!({"roots": {}}))
            .limits(limits);
        let mut client = Client::connect_with(case, &asking(), options).await;
        let mut calls = Vec::new();
        for _ in 0..2 {
            calls.push(client.start("tools/call", json!({"name": "ask"})).await);
        }
        let refused = client.request("tools/call", json!({"name": "ask"})).await;
        assert_eq!(refused["error"]["code"], -32603, "{case}: {refused}");
        for _ in 0..2 {
            let asked = client.next_of("roots/list").await;
            client.answer(&asked["id"], json!({"roots": []})).await;
        }
        for call in calls {
            let answer = client.response(call).await;
            assert_eq!(
                answer["result"]["content"][0]["text"], r#"{"roots":[]}"#,
                "{case}"
            );
        }
    }
}
