//! The stream of a legacy session that belongs to no request: what a GET opens.

use std::collections::HashSet;
use std::time::Duration;

use http::Method as Verb;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use turnbuckle_http::{HttpServerOptions, Sessions};
use turnbuckle_it::web::{Web, sessions};
use turnbuckle_wire::revision::Revision;

use crate::http::busy;
use crate::http_legacy::{A_WHILE, call, messages};
use crate::servers::{echo, full_server};

// requirement: 57a50efea51b
#[tokio::test(start_paused = true)]
async fn get_is_a_stream_or_405() {
    for revision in sessions() {
        let session = Web::new(&echo()).open(revision).await;
        assert!(session.get().send().await.is_stream());
        let stateless = Web::with(
            &echo(),
            HttpServerOptions::new().sessions(Sessions::Stateless),
        );
        for verb in [Verb::GET, Verb::DELETE, Verb::PUT] {
            let ask = stateless.ask(verb).header("accept", "text/event-stream");
            let got = ask.send().await;
            assert_eq!(got.status, 405);
            assert_eq!(got.header("allow"), Some("POST, OPTIONS"));
        }
        let got = Web::new(&echo()).ask(Verb::PUT).send().await;
        assert_eq!(got.status, 405);
        assert_eq!(got.header("allow"), Some("GET, POST, DELETE, OPTIONS"));
    }
}

// requirement: db8e23eabe9a
#[tokio::test(start_paused = true)]
async fn the_get_stream_carries_unrelated_messages() {
    for revision in sessions() {
        let session = Web::new(&full_server()).open(revision).await;
        let mut general = session.get().events().await;
        // The tool says something of its own, and changes every list.
        let call = session.call_tool(1, "talk", &json!({}));
        let messages_of_call = call.events().await.messages().await;
        let changed = |it: &Value| {
            it["method"]
                .as_str()
                .is_some_and(|it| it.contains("changed"))
        };
        assert!(
            !messages_of_call.iter().any(changed),
            "{messages_of_call:?}"
        );
        assert_eq!(messages_of_call.len(), 3);
        let notifications = messages(&general.within(A_WHILE).await);
        assert_eq!(notifications.len(), 3, "{revision} {notifications:?}");
        assert!(notifications.iter().all(changed), "{notifications:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_came_before_the_handshakes_end_hears_of_changes() {
    let web = Web::new(&full_server());
    let opened = web
        .initialize(Revision::NEWEST_LEGACY, json!({}))
        .send()
        .await;
    let id = opened.header("mcp-session-id").unwrap().to_owned();
    let get = web.ask(Verb::GET).header("mcp-session-id", &id);
    let mut general = get.events().await;
    // Somebody reads it who looks only when there is something.
    let reading = tokio::spawn(async move { general.next_message().await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let note = web.post(note.to_string()).header("mcp-session-id", &id);
    note.send().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begin = Instant::now();
    let call = web.post(call(1, "talk", json!({})).to_string());
    call.header("mcp-session-id", &id).send().await;
    reading.await.unwrap().expect("a change");
    assert_eq!(begin.elapsed(), Duration::ZERO, "at once");
}

// requirement: 29874d03990b
#[tokio::test(start_paused = true)]
async fn no_response_travels_on_a_fresh_get() {
    for revision in sessions() {
        let session = Web::new(&busy()).open(revision).await;
        let mut general = session.get().events().await;
        let mut count = session
            .call_tool(1, "count", &json!({"to": 2, "seconds": 2}))
            .events()
            .await;
        count.message().await;
        drop(count);
        let lost = session.call_tool(2, "sleep", &json!({"seconds": 2})).send();
        assert!(timeout(Duration::from_millis(10), lost).await.is_err());
        let notifications = messages(&general.within(Duration::from_secs(20)).await);
        assert!(notifications.is_empty(), "{revision} {notifications:?}");
        let mut fresh = session.get().events().await;
        assert!(messages(&fresh.within(A_WHILE).await).is_empty());
    }
}

// requirement: 9ad4484b3fa1
#[tokio::test(start_paused = true)]
async fn each_message_travels_on_one_stream() {
    for revision in sessions() {
        let session = Web::new(&full_server()).open(revision).await;
        let mut gets = vec![session.get().events().await, session.get().events().await];
        for round in 0..2 {
            let call = session.call_tool(round, "talk", &json!({}));
            let answers = call.events().await.messages().await;
            assert_eq!(answers.len(), 3);
            let mut notifications = Vec::new();
            for get in &mut gets {
                let events = get.within(A_WHILE).await;
                assert!(!events.contains(&None), "{revision}: a stream ended");
                notifications.extend(messages(&events));
            }
            let methods: HashSet<_> = notifications
                .iter()
                .map(|it| it["method"].to_string())
                .collect();
            assert_eq!(
                (notifications.len(), methods.len()),
                (3, 3),
                "{notifications:?}"
            );
            // The other one goes on alone.
            gets.truncate(1);
        }
    }
}
