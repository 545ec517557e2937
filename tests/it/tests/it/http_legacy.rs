//! Streamable HTTP as the legacy revisions have it: POST, GET, DELETE and what they carry.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use turnbuckle_http::{HttpServerOptions, Sessions};
use turnbuckle_it::web::{Event, Session, Web, sessions};
use turnbuckle_server::{HandlerContext, Tool};
use turnbuckle_wire::revision::Revision;

use crate::http::{busy, busy_builder, step_of};
use crate::servers::echo;
use crate::support::code;

/// Time of silence after which a test concludes that nothing more arrives.
pub(crate) const A_WHILE: Duration = Duration::from_secs(3);

/// Returns the revisions that have batches.
fn batching() -> impl Iterator<Item = Revision> {
    sessions()
        .into_iter()
        .filter(|revision| revision.features().batching)
}

pub(crate) fn call(id: u32, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

pub(crate) fn messages(events: &[Option<Event>]) -> Vec<Value> {
    let events = events.iter().flatten();
    events.filter_map(Event::message).collect()
}

// requirement: f61210e137c2
#[tokio::test(start_paused = true)]
async fn one_path_serves_post_and_get() {
    for revision in sessions() {
        let session = Web::new(&echo()).open(revision).await;
        let listed = session.request(1, "tools/list", &json!({})).send().await;
        assert_eq!((listed.status, listed.is_stream()), (200, false));
        let got = session.get().send().await;
        assert_eq!((got.status, got.is_stream()), (200, true), "{revision}");
    }
}

// requirement: f8dcbfc1584c
#[tokio::test(start_paused = true)]
async fn one_message_is_a_body() {
    for revision in sessions() {
        let able = json!({"roots": {}});
        let session = Web::new(&busy()).open_able(revision, able).await;
        let ping = session.request(1, "ping", &json!({}));
        assert_eq!(ping.json().await.1["result"], json!({}), "{revision}");
        let note = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
        assert_eq!(session.post(&note).send().await.status, 202);
        let mut events = session.call_tool(2, "roots", &json!({})).events().await;
        let asked = events.message().await;
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}});
        assert_eq!(session.post(&answer).send().await.status, 202);
        let answered = events.message().await;
        let text = &answered["result"]["content"][0]["text"];
        assert_eq!(text, r#"{"roots":[]}"#, "{revision}");
    }
}

// requirement: f184d5dd2b88
#[tokio::test(start_paused = true)]
async fn accepted_input_is_202_and_empty() {
    for revision in sessions() {
        let session = Web::new(&echo()).open(revision).await;
        for input in [
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": 99}}),
            json!({"jsonrpc": "2.0", "method": "notifications/anything"}),
            json!({"jsonrpc": "2.0", "id": 77, "result": {}}),
            json!({"jsonrpc": "2.0", "id": "nobody", "error": {"code": 1, "message": "m"}}),
        ] {
            let got = session.post(&input).send().await;
            assert_eq!(got.status, 202, "{revision} {input}");
            assert!(got.bytes().await.is_empty());
        }
    }
}

// requirement: b3ef20986626
#[tokio::test(start_paused = true)]
async fn refused_input_has_an_error_status() {
    let web = Web::with(&echo(), HttpServerOptions::new().max_message_bytes(2000));
    for revision in sessions() {
        let session = web.open(revision).await;
        let note = json!({"jsonrpc": "2.0", "method": "notifications/anything"});
        let post = || session.post(&note);
        let long = json!({"jsonrpc": "2.0", "method": "n", "params": {"a": "x".repeat(2000)}});
        for (status, ask) in [
            (404, post().header("mcp-session-id", "nobody")),
            (400, post().and_header("mcp-session-id", &session.id)),
            (415, post().header("content-type", "text/plain")),
            (415, post().without("content-type")),
            (406, post().header("accept", "text/html")),
            (413, session.post(&long)),
            (413, post().header("content-length", "2001")),
            (400, post().header("mcp-protocol-version", "1999-01-01")),
            (400, session.post(&json!({"jsonrpc": "2.0", "method": 5}))),
            (400, session.post(&json!({"jsonrpc": "2.0", "result": {}}))),
            (400, session.post(&json!("text"))),
        ] {
            assert_eq!(ask.send().await.status, status, "{revision}");
        }
    }
    let cut = web.post(r#"{"jsonrpc":"2.0""#);
    assert_eq!(cut.send().await.status, 400);
}

/// Checks that invalid messages are refused in the form of the session's revision.
#[tokio::test(start_paused = true)]
async fn a_refusal_has_the_form_of_the_session() {
    let web = Web::new(&echo());
    for revision in sessions() {
        let session = web.open(revision).await;
        let ask = session.post(&json!({"jsonrpc": "2.0", "id": {}, "method": "ping"}));
        let (status, answer) = ask.without("mcp-protocol-version").json().await;
        assert_eq!((status, code(&answer)), (400, -32600));
        let id = answer.get("id");
        let expected = revision.features().null_error_id.then_some(&Value::Null);
        assert_eq!(id, expected, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_acceptable_media_type_is_enough() {
    let web = Web::new(&echo());
    let session = web.open(Revision::NEWEST_LEGACY).await;
    for accept in [
        "*/*",
        "application/json",
        "text/event-stream",
        "application/*",
    ] {
        let ask = session.request(1, "ping", &json!({}));
        let got = ask.header("accept", accept).send().await;
        assert_eq!(got.status, 200);
        assert_eq!(got.is_stream(), accept == "text/event-stream");
        let answer = match got.is_stream() {
            true => got.events().message().await,
            false => got.json().await,
        };
        assert_eq!(answer["id"], 1);
    }
    let ask = session.request(1, "ping", &json!({})).without("accept");
    assert_eq!(ask.send().await.status, 200);
    let ask = session.get().header("accept", "application/json");
    assert_eq!(ask.send().await.status, 406);
}

// requirement: 8a878408facb 92849b5648c2
#[tokio::test(start_paused = true)]
async fn a_request_is_answered_by_json_or_a_stream() {
    for revision in sessions() {
        let session = Web::new(&busy()).open(revision).await;
        for (id, tool, arguments, streams) in [
            (1, "echo", json!({"text": "t"}), false),
            (2, "sleep", json!({"seconds": 0}), false),
            (3, "sleep", json!({"seconds": 2}), true),
            (4, "count", json!({"to": 2}), true),
            (5, "count", json!({"to": 2, "seconds": 1}), true),
        ] {
            let got = session.call_tool(id, tool, &arguments).send().await;
            assert_eq!((got.status, got.is_stream()), (200, streams), "{id}");
            let last = if streams {
                got.events().messages().await.pop().expect("an answer")
            } else {
                got.json().await
            };
            assert_eq!(last["id"], id, "{revision}");
        }
    }
}

// requirement: 06248f6152a1 07ce0df2a811 4c0c824cbc15 8366387c568a f47d435cce9e
#[tokio::test(start_paused = true)]
async fn the_stream_carries_every_response() {
    for revision in sessions() {
        let session = Web::new(&busy()).open(revision).await;
        let begin = Instant::now();
        let call = session.call_tool(1, "count", &json!({"to": 4, "seconds": 5}));
        let messages = call.events().await.messages().await;
        assert_eq!(begin.elapsed().as_secs(), 20, "{revision}");
        let steps: Vec<_> = messages.iter().filter_map(step_of).collect();
        assert_eq!(steps, [1, 2, 3, 4]);
        let answers: Vec<_> = messages
            .iter()
            .filter(|it| it.get("result").is_some())
            .collect();
        assert_eq!(answers.len(), 1);
        assert_eq!(messages.last(), answers.first().copied());
    }
    for revision in batching() {
        let session = Web::new(&busy()).open(revision).await;
        let batch = json!([
            call(1, "sleep", json!({"seconds": 9})),
            call(2, "echo", json!({"text": "t"})),
            call(3, "count", json!({"to": 2, "seconds": 2})),
        ]);
        let messages = session.post(&batch).events().await.messages().await;
        let ids = messages.iter().filter_map(|it| it["id"].as_u64());
        // One event for each, as soon as it is there.
        assert_eq!(ids.collect::<Vec<_>>(), [2, 3, 1], "{messages:#?}");
        assert_eq!(messages.iter().filter_map(step_of).count(), 2);
    }
}

// requirement: 10b4503c07b2 720fc78ab010 e8ac3f56b1ea
#[tokio::test(start_paused = true)]
async fn the_stream_ends_after_the_last_response() {
    for revision in sessions() {
        let session = Web::new(&busy()).open(revision).await;
        let call = session.call_tool(1, "sleep", &json!({"seconds": 2}));
        let mut events = call.events().await;
        assert_eq!(events.message().await["id"], 1);
        assert_eq!(events.within(A_WHILE).await, [None], "{revision}");
    }
    for revision in batching() {
        let session = Web::new(&busy()).open(revision).await;
        let nap = |id, seconds: u32| call(id, "sleep", json!({"seconds": seconds}));
        let mut events = session.post(&json!([nap(1, 9), nap(2, 2)])).events().await;
        for (id, seconds) in [(2, 2), (1, 9)] {
            let begin = Instant::now();
            assert_eq!(events.message().await["id"], id);
            assert!(begin.elapsed().as_secs() <= seconds);
        }
        assert_eq!(events.within(A_WHILE).await, [None]);
        let quick = session.post(&json!([nap(3, 0), nap(4, 0)])).json().await;
        assert_eq!(quick.0, 200);
        assert_eq!(quick.1.as_array().map(Vec::len), Some(2));
    }
}

// requirement: acb531f23ad1
#[tokio::test(start_paused = true)]
async fn a_batch_of_responses_is_202() {
    for revision in batching() {
        let able = json!({"roots": {}});
        let session = Web::new(&busy()).open_able(revision, able).await;
        let mut calls = Vec::new();
        let mut answers = Vec::new();
        for id in [1, 2] {
            let mut events = session.call_tool(id, "roots", &json!({})).events().await;
            let asked = events.message().await;
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}});
            answers.push(answer);
            calls.push(events);
        }
        let got = session.post(&answers.into()).send().await;
        assert_eq!(got.status, 202);
        assert!(got.bytes().await.is_empty());
        for mut events in calls {
            let answer = events.message().await;
            assert_eq!(answer["result"]["content"][0]["text"], r#"{"roots":[]}"#);
        }
    }
}

// requirement: d1d0e3451175
#[tokio::test(start_paused = true)]
async fn a_stream_carries_messages_of_its_request_only() {
    for revision in sessions() {
        let able = json!({"roots": {}});
        let session = Web::new(&busy()).open_able(revision, able).await;
        let count = |id| session.call_tool(id, "count", &json!({"to": 4, "seconds": id}));
        let (one, two) = (count(1).events().await, count(2).events().await);
        let mut asking = session.call_tool(3, "roots", &json!({})).events().await;
        let asked = asking.message().await;
        assert_eq!(asked["method"], "roots/list");
        for (id, events) in [(1, one), (2, two)] {
            let messages = events.messages().await;
            let tokens = messages
                .iter()
                .filter_map(|it| it["params"]["progressToken"].as_u64());
            assert_eq!(tokens.collect::<Vec<_>>(), [id; 4], "{revision}");
            let is_log = |it: &&Value| it["method"] == "notifications/message";
            assert_eq!(messages.iter().filter(is_log).count(), 4);
            assert_eq!(messages.len(), 9, "{messages:#?}");
            assert_eq!(messages[8]["id"], id);
        }
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}});
        session.post(&answer).send().await;
        assert_eq!(asking.messages().await.len(), 1);
    }
}

// requirement: 2daf68ea6036
#[tokio::test(start_paused = true)]
async fn a_lost_connection_cancels_nothing() {
    let done = Arc::new(AtomicUsize::new(0));
    let count = done.clone();
    let work = Tool::builder("work").handler(move |(): (), _: HandlerContext| {
        let count = count.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            count.fetch_add(1, Ordering::SeqCst);
            "worked"
        }
    });
    let web = Web::new(&busy_builder().tool(work).build().unwrap());
    for (revision, finished) in sessions().into_iter().zip(1..) {
        let session = web.open(revision).await;
        // Lost while the answer is waited for, and lost while it is streamed.
        let waiting = session.call_tool(1, "work", &json!({})).send();
        assert!(timeout(Duration::from_millis(10), waiting).await.is_err());
        let begun = session.call_tool(2, "work", &json!({})).events();
        let begun = timeout(Duration::from_secs(10), begun).await;
        let mut events = begun.expect("a stream, or an answer");
        let primed = match revision.features().priming_event {
            true => events.next().await.unwrap().id,
            false => None,
        };
        drop(events);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let done = done.load(Ordering::SeqCst);
        assert_eq!(done, 2 * finished, "{revision}");
        let Some(id) = primed else { continue };
        let rest = session.resume(&id).events().await.messages().await;
        assert_eq!(rest.len(), 1);
        assert_eq!(rest[0]["result"]["content"][0]["text"], "worked");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_ends_its_stream_without_a_response() {
    for revision in sessions() {
        let session = Web::new(&busy()).open(revision).await;
        let cancel = |id: u32| {
            let params = json!({"requestId": id});
            let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": params});
            session.post(&note).send()
        };
        let mut events = session
            .call_tool(1, "sleep", &json!({"seconds": 99}))
            .events()
            .await;
        cancel(1).await;
        let rest = events.within(Duration::from_secs(5)).await;
        assert_eq!(rest.last(), Some(&None), "{revision}");
        assert!(messages(&rest).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_quotes_the_beginning_of_a_long_version() {
    let session = Web::new(&echo()).open(Revision::NEWEST_LEGACY).await;
    let ask = session.request(1, "ping", &json!({}));
    let ask = ask.header("mcp-protocol-version", &"x".repeat(5000));
    let error = ask.send().await.json().await["error"]["message"].to_string();
    let count = error.bytes().filter(|&byte| byte == b'x').count();
    assert_eq!(count, 64, "{error}");
}

// requirement: a1c3ff776ffa
#[tokio::test(start_paused = true)]
async fn an_unknown_version_header_is_400() {
    for revision in sessions() {
        let session = Web::new(&echo()).open(revision).await;
        for version in ["1999-01-01", "2027-01-01", "latest", "", "2025-11-25 x"] {
            let asks = [
                session.request(1, "ping", &json!({})),
                session.get(),
                session.delete(),
            ];
            for ask in asks {
                let got = ask.header("mcp-protocol-version", version).send().await;
                assert_eq!(got.status, 400, "{revision} {version:?}");
            }
        }
        let twice = session
            .request(1, "ping", &json!({}))
            .without("mcp-protocol-version");
        let twice = twice.header("mcp-protocol-version", revision.as_str());
        let twice = twice.and_header("mcp-protocol-version", revision.as_str());
        assert_eq!(twice.send().await.status, 400);
        // None, and any other that is served, is as good: the session's own counts.
        for other in sessions().iter().map(|it| Some(it.as_str())).chain([None]) {
            let ask = session.request(1, "ping", &json!({}));
            let ask = ask.without("mcp-protocol-version");
            let ask = other
                .iter()
                .fold(ask, |ask, it| ask.header("mcp-protocol-version", it));
            assert_eq!(ask.send().await.status, 200, "{revision} {other:?}");
        }
    }
}

// requirement: 4ae1ef75b383
#[tokio::test(start_paused = true)]
async fn no_version_header_means_the_first_http_revision() {
    let stateless = Web::with(
        &echo(),
        HttpServerOptions::new().sessions(Sessions::Stateless),
    );
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]);
    // That revision alone has batches.
    let without = stateless.post(batch.to_string()).json().await;
    assert_eq!(without.0, 200);
    assert_eq!(without.1[0]["result"], json!({}));
    let ask = stateless.post(batch.to_string());
    let ask = ask.header("mcp-protocol-version", Revision::NEWEST_LEGACY.as_str());
    assert_eq!(ask.send().await.status, 400);
    // With a session its own revision counts.
    for revision in sessions() {
        let session: Session = Web::new(&echo()).open(revision).await;
        let ask = session.post(&batch).without("mcp-protocol-version");
        let status = ask.send().await.status;
        let batching = revision.features().batching;
        assert_eq!(status, if batching { 200 } else { 400 }, "{revision}");
    }
}
