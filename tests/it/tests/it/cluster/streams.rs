//! Streams that are cut at one instance and resumed at another.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use turnbuckle_http::{HttpServer, HttpServerOptions, HttpTimeouts};
use turnbuckle_it::faulty_store::{Fault, FaultyStore};
use turnbuckle_it::web::{Event, Events, Session, Web, sessions};
use turnbuckle_store::{MemoryStore, StoreErrorKind};
use turnbuckle_wire::revision::Revision;

use super::{Instance, keys};
use crate::http::{busy_builder, step_of};
use crate::http_serve::{PATIENCE, post, read_until};

const LEGACY: Revision = Revision::NEWEST_LEGACY;
const SECOND: Duration = Duration::from_secs(1);

/// Creates an instance with a tool that counts.
async fn instance(store: &MemoryStore) -> Instance {
    let line = FaultyStore::for_engine(store);
    let builder = busy_builder().keys(keys()).store(line.clone());
    let server = builder.build().unwrap();
    let web = Web::with(&server, HttpServerOptions::new());
    // The instance subscribes to its messages.
    tokio::time::sleep(Duration::from_millis(1)).await;
    Instance { web, server, line }
}

async fn two() -> (Instance, Instance) {
    let store = MemoryStore::new();
    (instance(&store).await, instance(&store).await)
}

/// Reads as many steps of a call. Returns the id of the last event.
async fn read_steps(events: &mut Events, steps: &mut Vec<u64>, count: usize) -> String {
    let mut last = None;
    let before = steps.len();
    while steps.len() < before + count {
        let (event, message) = events.next_message().await.expect("a step");
        steps.extend(step_of(&message));
        last = event.id;
    }
    last.expect("an id")
}

/// Calls the counting tool, and loses the connection after as many steps.
async fn cut_call(session: &Session, id: u32, steps: &mut Vec<u64>, count: usize) -> String {
    let call = session.call_tool(id, "count", &json!({"to": 5, "seconds": 2}));
    let mut events = call.events().await;
    read_steps(&mut events, steps, count).await
}

fn text_of(message: &Value) -> &str {
    message["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

/// Lets an instance do nothing any more with the store, as one that has died.
fn kill(instance: &Instance) {
    instance.line.fail("", Fault::Slow(1_000_000 * SECOND));
}

fn assert_ends_with_named_error(messages: &[Value], id: u32) {
    let [.., error] = messages else {
        panic!("the call has ended in silence");
    };
    let message = error["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("has ended"), "{error}");
    assert_eq!(
        (&error["id"], &error["error"]["code"]),
        (&json!(id), &json!(-32603))
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cut_goes_on_at_another_instance() {
    for revision in sessions() {
        let (one, two) = two().await;
        let here = one.web.open(revision).await;
        let there = here.with_web(&two.web);
        let mut steps = Vec::new();
        let mut last = cut_call(&here, 1, &mut steps, 1).await;
        // The client changes the instance with every connection.
        for session in [&there, &here, &there] {
            let mut events = session.resume(&last).events().await;
            last = read_steps(&mut events, &mut steps, 1).await;
        }
        let rest = here
            .with_web(&two.web)
            .resume(&last)
            .events()
            .await
            .rest()
            .await;
        let messages: Vec<_> = rest.iter().filter_map(Event::message).collect();
        steps.extend(messages.iter().filter_map(step_of));
        assert_eq!(steps, [1, 2, 3, 4, 5], "{revision}");
        assert_eq!(
            text_of(messages.last().unwrap()),
            "counted to 5",
            "{revision}"
        );
        // What has ended can be read again, and behind its end there is nothing.
        let again = there.resume(&last).events().await.messages().await;
        assert_eq!(again, messages, "{revision}");
        let end = rest.last().unwrap().id.clone().unwrap();
        assert!(
            there
                .resume(&end)
                .events()
                .await
                .messages()
                .await
                .is_empty()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn live_messages_of_another_instance_arrive_at_once() {
    let (one, two) = two().await;
    let here = one.web.open(LEGACY).await;
    let call = here.call_tool(1, "count", &json!({"to": 2, "seconds": 20}));
    let mut events = call.events().await;
    let last = read_steps(&mut events, &mut Vec::new(), 1).await;
    let start = Instant::now();
    let mut there = here.with_web(&two.web).resume(&last).events().await;
    read_steps(&mut there, &mut Vec::new(), 1).await;
    let took = start.elapsed();
    assert!(took < 20 * SECOND + SECOND / 10, "{took:?}");
    // The older connection is closed: what it was not sent goes to the newer one.
    let rest = events.messages().await;
    assert!(
        rest.iter().all(|message| step_of(message).is_none()),
        "{rest:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_resumed_from_its_first_event() {
    let (one, two) = two().await;
    let here = one.web.open(LEGACY).await;
    let call = here.call_tool(1, "sleep", &json!({"seconds": 5}));
    let mut events = call.events().await;
    let first = events.next().await.unwrap().id.unwrap();
    drop(events);
    let there = here.with_web(&two.web).resume(&first);
    let messages = there.events().await.messages().await;
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0]["result"].is_object(), "{messages:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_of_an_instance_that_has_died_end_with_a_named_error() {
    let (one, two) = two().await;
    let here = one.web.open(LEGACY).await;
    let call = json!({"to": 5, "seconds": 60});
    let mut events = here.call_tool(7, "count", &call).events().await;
    let last = read_steps(&mut events, &mut Vec::new(), 1).await;
    tokio::time::sleep(SECOND).await;
    kill(&one);
    let start = Instant::now();
    let there = here.with_web(&two.web);
    let messages = there.resume(&last).events().await.messages().await;
    assert_ends_with_named_error(&messages, 7);
    assert!(start.elapsed() <= 12 * SECOND, "{:?}", start.elapsed());
    // It is told once: the session goes on.
    let again = there.resume(&last).events().await.messages().await;
    assert_eq!(again, messages);
    assert_eq!(super::ping(&there).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn each_request_of_a_batch_has_its_response_or_error() {
    let (one, two) = two().await;
    let here = one.web.open(Revision::V2025_03_26).await;
    let call = |id: u32, to: u64, seconds: u64| {
        let arguments = json!({"to": to, "seconds": seconds});
        let params =
            json!({"name": "count", "arguments": arguments, "_meta": {"progressToken": id}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let batch = json!([call(1, 1, 2), call(2, 5, 3600)]);
    let mut events = here.post(&batch).events().await;
    let last = read_steps(&mut events, &mut Vec::new(), 1).await;
    drop(events);
    tokio::time::sleep(4 * SECOND).await;
    kill(&one);
    let there = here.with_web(&two.web);
    let messages = there.resume(&last).events().await.messages().await;
    let answers: Vec<_> = messages
        .iter()
        .filter(|it| it.get("id").is_some())
        .collect();
    assert_eq!(answers.len(), 2, "{messages:?}");
    assert_eq!(
        (&answers[0]["id"], text_of(answers[0])),
        (&json!(1), "counted to 1")
    );
    assert_ends_with_named_error(&messages, 2);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_goes_away_writes_the_ends_of_its_calls() {
    let (one, two) = two().await;
    let here = one.web.open(LEGACY).await;
    let there = here.with_web(&two.web);
    let mut steps = Vec::new();
    let last = cut_call(&here, 3, &mut steps, 1).await;
    drop((here, one));
    let start = Instant::now();
    let messages = there.resume(&last).events().await.messages().await;
    assert_ends_with_named_error(&messages, 3);
    assert!(start.elapsed() < SECOND, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_meanwhile_loses_nothing() {
    let (one, two) = two().await;
    let here = one.web.open(LEGACY).await;
    let there = here.with_web(&two.web);
    let mut steps = Vec::new();
    let last = cut_call(&here, 1, &mut steps, 1).await;
    let mut events = there.resume(&last).events().await;
    read_steps(&mut events, &mut steps, 1).await;
    for instance in [&one, &two] {
        instance
            .line
            .fail("", Fault::Error(StoreErrorKind::Unavailable));
        tokio::time::sleep(2 * SECOND).await;
        instance.line.heal();
    }
    let messages = events.messages().await;
    steps.extend(messages.iter().filter_map(step_of));
    assert_eq!(steps, [1, 2, 3, 4, 5]);
    assert_eq!(text_of(messages.last().unwrap()), "counted to 5");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_named_and_no_event_is_called_unknown() {
    let (one, two) = two().await;
    let here = one.web.open(LEGACY).await;
    let there = here.with_web(&two.web);
    let last = cut_call(&here, 1, &mut Vec::new(), 1).await;
    // The session is known here already.
    super::ping(&there).await;
    two.line.fail("", Fault::Error(StoreErrorKind::Unavailable));
    let got = there.resume(&last).send().await;
    assert!(got.status == 503 && got.header("retry-after").is_some());
    let answer = got.json().await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("the store")
    );
}

#[tokio::test(start_paused = true)]
async fn ids_of_other_sessions_and_instances_are_unknown() {
    let (one, two) = two().await;
    let here = one.web.open(LEGACY).await;
    let there = here.with_web(&two.web);
    let last = cut_call(&here, 1, &mut Vec::new(), 1).await;
    let (stream, sequence) = last.split_once('-').unwrap();
    let (instance, number) = stream.split_once('.').unwrap();
    let mut unknown = vec![
        format!("zzzzzzzz.{number}-{sequence}"),
        format!("{instance}.999999-{sequence}"),
        format!("{number}-{sequence}"),
        format!("{instance}x.{number}-{sequence}"),
        format!("{stream}-"),
        format!("{stream}-{sequence}-1"),
        format!("../{stream}-{sequence}"),
        format!("{stream}-18446744073709551616"),
        "x".repeat(10_000),
    ];
    for id in &unknown {
        let got = there.resume(id).send().await;
        assert_eq!(got.status, 400, "{id:.100}");
    }
    unknown.clear();
    let other = two.web.open(LEGACY).await;
    assert_eq!(
        other.resume(&last).send().await.status,
        400,
        "another session"
    );
    // Behind the end stands what the client has received and the store has not: it waits for more.
    let beyond = there.resume(&format!("{stream}-4611686018427387903"));
    assert_eq!(beyond.send().await.status, 200);
    let rest = there.resume(&last).events().await.messages().await;
    assert_eq!(text_of(rest.last().unwrap()), "counted to 5");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_ended_leaves_no_stream() {
    let store = MemoryStore::new();
    let (one, two) = (instance(&store).await, instance(&store).await);
    let here = one.web.open(LEGACY).await;
    let there = here.with_web(&two.web);
    let last = cut_call(&here, 1, &mut Vec::new(), 1).await;
    let followed = there.resume(&last).events().await;
    assert_eq!(there.delete().send().await.status, 204);
    followed.rest().await;
    assert_eq!(there.resume(&last).send().await.status, 404);
    drop((here, there, one, two));
    tokio::time::sleep(1200 * SECOND).await;
    assert!(
        store.len() <= 2,
        "no more than the marks of the store are left"
    );
}

#[tokio::test]
async fn a_server_that_stops_writes_the_ends_of_its_calls() {
    let store = MemoryStore::new();
    let builder = busy_builder().keys(keys()).store(store.clone());
    let timeouts = HttpTimeouts::new().shutdown_timeout(SECOND / 10);
    let options = HttpServerOptions::new().timeouts(timeouts.json_wait(Duration::ZERO));
    let server = builder.build().unwrap();
    let server = HttpServer::bind(server, "127.0.0.1:0", options)
        .await
        .unwrap();
    let (address, shutdown) = (server.local_addr().unwrap(), server.shutdown());
    let serving = tokio::spawn(server.serve());
    let two = instance(&store).await;
    let there = two.web.open(LEGACY).await;
    let call = json!({"to": 2, "seconds": 3600});
    let params = json!({"name": "count", "arguments": call, "_meta": {"progressToken": 4}});
    let call = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": params});
    let head = format!(
        "Accept: application/json, text/event-stream\r\nMcp-Session-Id: {}\r\n",
        there.id
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    let call = post(&call, &head);
    stream.write_all(call.as_bytes()).await.unwrap();
    let text = read_until(&mut stream, "\"progress\":1").await;
    let last = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("id: "));
    let last = last.unwrap().to_owned();
    shutdown.close();
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
    let messages = there.resume(&last).events().await.messages().await;
    assert_ends_with_named_error(&messages, 4);
}
