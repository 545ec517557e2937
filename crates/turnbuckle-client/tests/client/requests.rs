//! Requests to misbehaving servers: timeouts, floods, lost connections, closing.

use std::future::{IntoFuture, pending, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::scripted_link::ScriptedConnector;
use crate::scripted_server::{builder, legacy, modern, scripted_peer, settle};
use serde_json::{Value, json};
use tokio::time::Instant;
use turnbuckle_client::{
    Client, ClientBuilder, EraKind, EraPreference, Error, FormAnswer, ReconnectPolicy, Roots,
};
use turnbuckle_it::peer::{Peer, PeerConnectors};
use turnbuckle_session::transport::{
    ClientLimits, Frame, Link, LinkKind, MemoryTransport, TimeoutKind, Timeouts, Transport,
    TransportLink, memory_pair,
};

const LEGACY: &str = "2025-11-25";

pub(crate) fn tasks() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn form() -> Value {
    json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}})
}

/// Returns a modern result that asks the user.
fn question() -> Value {
    json!({"resultType": "input_required", "inputRequests":
        {"q": {"method": "elicitation/create", "params": form()}}})
}

/// Installs a form handler that declines after `thinking` and counts the forms.
fn declining(thinking: Option<Duration>) -> (ClientBuilder, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let builder = builder().on_form(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        async move {
            match thinking {
                Some(thinking) => tokio::time::sleep(thinking).await,
                None => pending().await,
            }
            FormAnswer::Decline
        }
    });
    (builder, asked)
}

fn result_of(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}})
}

async fn receive(wire: &mut MemoryTransport) -> Option<Value> {
    match poll_fn(|cx| wire.poll_frame(cx)).await? {
        Frame::Message(bytes) => Some(serde_json::from_slice(&bytes).unwrap()),
        Frame::TooLong { .. } => panic!("a frame in memory has no cap"),
    }
}

pub(crate) async fn send(wire: &mut MemoryTransport, message: &Value) {
    wire.queue(message.to_string().as_bytes());
    poll_fn(|cx| wire.poll_flush(cx)).await.unwrap();
}

/// Returns a client and the wire of its legacy server after the handshake.
pub(crate) async fn connect_legacy(builder: ClientBuilder) -> (Client, MemoryTransport) {
    let (ours, mut theirs) = memory_pair();
    let server = async {
        let initialize = receive(&mut theirs).await.unwrap();
        let greeting = json!({"jsonrpc": "2.0", "id": initialize["id"], "result": {
            "protocolVersion": LEGACY, "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "s", "version": "0"}}});
        send(&mut theirs, &greeting).await;
        let initialized = receive(&mut theirs).await.unwrap();
        assert_eq!(initialized["method"], "notifications/initialized");
        theirs
    };
    let ours = Mutex::new(Some(ours));
    let connector = ScriptedConnector::new(LinkKind::Duplex, move |inbox| {
        let ours = ours.lock().unwrap().take().unwrap();
        // A short queue.
        Ok(TransportLink::start(ours, inbox, 4096) as Arc<dyn Link>)
    });
    let connector = connector.opens_once();
    let client = builder.era(EraPreference::Legacy).connect(connector);
    let (client, theirs) = tokio::join!(client, server);
    (client.unwrap(), theirs)
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_progress_callback_does_not_end_the_request() {
    let builder = builder().on_invalid_message(|_, _| panic!("on purpose"));
    let (client, scripted) = legacy(builder, LEGACY, |_, message| {
        (message["method"] == "ping").then(|| Ok(json!({})))
    })
    .await;
    scripted.send(json!("no message"));
    client.ping().await.unwrap();

    let call = client
        .call_tool("t", &())
        .on_progress(|_| panic!("on purpose"));
    let server = async {
        settle().await;
        let call = &scripted.messages_of("tools/call")[0];
        let token = &call.message["params"]["_meta"]["progressToken"];
        let progress = json!({"progressToken": token, "progress": 1});
        scripted.notify("notifications/progress", progress);
        scripted.send(result_of(call.id()));
    };
    let (result, ()) = tokio::join!(call.into_future(), server);
    result.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_floods_and_does_not_read_is_disconnected() {
    for method in ["ping", "no/such", "roots/list"] {
        let before = tasks();
        let (client, mut theirs) = connect_legacy(builder().roots(Roots::new())).await;
        for id in 0..3000 {
            let message = json!({"jsonrpc": "2.0", "id": id, "method": method});
            send(&mut theirs, &message).await;
        }
        settle().await;
        assert!(tasks() < before + 1100, "{method}: {} tasks", tasks());
        drop(client);
        settle().await;
        assert_eq!(tasks(), before, "{method}: what stays");
        while receive(&mut theirs).await.is_some() {}
    }
}

#[tokio::test(start_paused = true)]
async fn requests_dropped_while_the_link_is_blocked_leave_nothing() {
    let before = tasks();
    let (client, theirs) = connect_legacy(builder()).await;
    for _ in 0..2000 {
        let ping = client.ping().idle_timeout(Duration::from_millis(1));
        assert!(ping.await.unwrap_err().is_timeout());
    }
    assert_eq!(client.in_flight(), Default::default());
    assert!(tasks() < before + 1100, "{} tasks", tasks());
    drop(client);
    settle().await;
    assert_eq!(tasks(), before);
    drop(theirs);
}

#[tokio::test(start_paused = true)]
async fn a_queued_request_of_a_lost_connection_counts_as_unsent() {
    let (client, theirs) = connect_legacy(builder()).await;
    let arguments = json!({"a": "x".repeat(1000)});
    let calls: Vec<_> = (0..100)
        .map(|_| tokio::spawn(client.call_tool("t", &arguments).into_future()))
        .collect();
    settle().await;
    drop(theirs);
    let mut sent = Vec::new();
    for call in calls {
        match call.await.unwrap() {
            Err(Error::ConnectionLost { sent: it, .. }) => sent.push(it),
            other => panic!("{other:?}"),
        }
    }
    // As many as the pipe and its queue hold, and no more.
    let taken = sent.partition_point(|sent| *sent);
    assert!((64..80).contains(&taken), "{taken}");
    assert!(!sent[taken..].contains(&true));
}

#[tokio::test(start_paused = true)]
async fn the_users_time_does_not_count_as_idle_time() {
    let (builder, _) = declining(Some(seconds(59)));
    let (client, scripted) = legacy(builder, LEGACY, |_, _| None).await;
    let call = client.call_tool("t", &());
    let server = async {
        settle().await;
        let id = scripted.messages_of("tools/call")[0].id().clone();
        scripted.send(asks("q"));
        tokio::time::sleep(seconds(100)).await;
        scripted.send(result_of(&id));
    };
    let (result, ()) = tokio::join!(call.into_future(), server);
    result.unwrap();
}

fn asks(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": form()})
}

/// Asks one question after the other without end.
async fn ask_without_end(scripted: Peer) {
    for id in 0.. {
        tokio::time::sleep(seconds(5)).await;
        scripted.send(asks(&id.to_string()));
    }
}

#[tokio::test(start_paused = true)]
async fn neither_questions_nor_progress_extend_the_total_timeout() {
    let (builder, _) = declining(Some(seconds(4)));
    let (client, scripted) = legacy(builder, LEGACY, |_, _| None).await;
    let began = Instant::now();
    let call = client.call_tool("t", &()).total_timeout(seconds(600));
    let error = tokio::select! {
        outcome = call.into_future() => outcome.unwrap_err(),
        () = ask_without_end(scripted.clone()) => unreachable!(),
    };
    assert!(matches!(error, Error::TimedOut(TimeoutKind::Total(all)) if all == seconds(600)));
    assert_eq!(began.elapsed(), seconds(600));
    settle().await;
    assert_eq!(scripted.messages_of("notifications/cancelled").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_total_timeout_covers_all_rounds_and_the_users_time() {
    let (builder, asked) = declining(Some(seconds(50)));
    let (client, scripted) = modern(builder, |_, _| Some(Ok(question()))).await;
    let began = Instant::now();
    let call = client.call_tool("t", &()).total_timeout(seconds(120));
    let error = call.await.unwrap_err();
    assert!(matches!(error, Error::TimedOut(TimeoutKind::Total(all)) if all == seconds(120)));
    assert_eq!(began.elapsed(), seconds(120));
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    // Each round was answered: there is nothing to cancel.
    settle().await;
    assert!(scripted.messages_of("notifications/cancelled").is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_question_ends_its_request() {
    for limits in [None, Some(ClientLimits::new().handler_timeout(seconds(9)))] {
        let bound = limits.as_ref().map_or(600, |_| 9);
        let setting = limits.unwrap_or_default();
        let ask = async |thinking| {
            let (builder, _) = declining(thinking);
            let (client, _scripted) = modern(builder.limits(setting.clone()), |_, message| {
                let answered = message["params"].get("inputResponses").is_some();
                Some(Ok(if answered {
                    json!({"content": []})
                } else {
                    question()
                }))
            })
            .await;
            client.call_tool("t", &()).await
        };
        ask(Some(seconds(bound - 1))).await.unwrap();
        let began = Instant::now();
        let error = ask(None).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the server's question (elicitation/create) was not answered: it took longer \
                than {bound}s (ClientLimits::handler_timeout)"
            )
        );
        assert_eq!(began.elapsed(), seconds(bound));
    }
}

#[tokio::test(start_paused = true)]
async fn the_user_is_not_asked_beyond_the_last_round() {
    let (builder, asked) = declining(Some(Duration::ZERO));
    let builder = builder.max_input_rounds(2);
    let (client, scripted) = modern(builder, |_, _| Some(Ok(question()))).await;
    let error = client.call_tool("t", &()).await.unwrap_err();
    assert!(
        matches!(error, Error::TooManyInputRounds { limit: 2 }),
        "{error}"
    );
    assert_eq!(scripted.messages_of("tools/call").len(), 3);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_a_call_that_waits_for_the_user() {
    let (builder, _) = declining(None);
    let (client, _scripted) = modern(builder, |_, _| Some(Ok(question()))).await;
    let call = tokio::spawn(client.call_tool("t", &()).into_future());
    settle().await;
    client.close().await;
    let ended = tokio::time::timeout(seconds(1), call).await.unwrap();
    let error = ended.unwrap().unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_the_next_reconnect() {
    let reconnects = ReconnectPolicy::new().initial_backoff(seconds(3600));
    let (client, scripted) = legacy(builder().reconnect_policy(reconnects), LEGACY, |_, _| {
        Some(Ok(json!({})))
    })
    .await;
    scripted.disconnect();
    settle().await;
    client.ping().await.unwrap();
    scripted.disconnect();
    settle().await;
    let ping = tokio::spawn(client.ping().into_future());
    settle().await;
    let began = Instant::now();
    client.close().await;
    let error = ping.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Closed), "{error}");
    assert!(began.elapsed() < seconds(1));
}

#[tokio::test(start_paused = true)]
async fn a_pinned_era_is_tried_once_per_reconnect() {
    for (era, tries) in [
        (EraPreference::Legacy, 1),
        (EraPreference::StartWith(EraKind::Legacy), 3),
    ] {
        let scripted = scripted_peer(|connection, message| {
            Some(match (connection, message["method"].as_str()) {
                (1, Some("initialize")) => Ok(json!({"protocolVersion": LEGACY,
                    "capabilities": {"tools": {}, "resources": {}, "prompts": {}}, "serverInfo": {"name": "s", "version": "0"}})),
                (1, _) => Ok(json!({})),
                _ => Err(-32603),
            })
        });
        let client = builder().era(era).connect(scripted.lines()).await.unwrap();
        scripted.disconnect();
        settle().await;
        client.ping().await.unwrap_err();
        // With a known era that may be wrong, the server gets a handshake, then a probe with a
        // handshake, and one on a connection that saw no probe.
        assert_eq!(
            scripted.messages_of("initialize").len(),
            1 + tries,
            "{era:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn exhausted_reconnects_report_the_last_error_and_recover() {
    let scripted = scripted_peer(|connection, message| {
        Some(match (connection, message["method"].as_str()) {
            (1 | 7, Some("initialize")) => Ok(json!({"protocolVersion": LEGACY,
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}}, "serverInfo": {"name": "s", "version": "0"}})),
            (1 | 7, _) => Ok(json!({})),
            _ => Err(-32099),
        })
    });
    let client = builder()
        .era(EraPreference::Legacy)
        .connect(scripted.lines())
        .await
        .unwrap();
    scripted.disconnect();
    settle().await;
    for _ in 0..5 {
        let error = client.ping().await.unwrap_err();
        assert!(matches!(error, Error::ErrorResponse(_)), "{error}");
    }
    let error = client.ping().await.unwrap_err();
    assert!(
        matches!(error, Error::ReconnectsExhausted { attempts: 5, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("-32099"), "{error}");
    assert_eq!(scripted.connection_count(), 6);
    tokio::time::sleep(seconds(61)).await;
    client.ping().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_refused_handshake_beside_a_silent_probe_is_reported_soon() {
    let scripted =
        scripted_peer(|_, message| (message["method"] == "initialize").then_some(Err(-32001)));
    let began = Instant::now();
    let error = builder().connect(scripted.lines()).await.unwrap_err();
    assert!(error.to_string().contains("-32001"), "{error}");
    assert!(began.elapsed() <= seconds(6), "{:?}", began.elapsed());
    settle().await;
    assert!(scripted.messages_of("notifications/cancelled").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_that_cannot_reopen_reports_its_cause() {
    let (client, theirs) = connect_legacy(builder()).await;
    drop(theirs);
    settle().await;
    for _ in 0..10 {
        let error = client.call_tool("t", &()).await.unwrap_err();
        assert!(
            matches!(error, Error::ConnectionLost { sent: false, .. }),
            "{error}"
        );
        assert!(error.to_string().contains("closed its output"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_keep_alive_that_fails_ends_the_connection_and_its_link() {
    let before = tasks();
    let patient = Timeouts::uniform(seconds(600));
    let builder = builder().timeouts(patient);
    let builder = builder.keep_alive(seconds(30), seconds(5));
    let (client, mut theirs) = connect_legacy(builder).await;
    assert_eq!(receive(&mut theirs).await.unwrap()["method"], "ping");
    tokio::time::sleep(seconds(6)).await;
    while receive(&mut theirs).await.is_some() {}
    settle().await;
    assert_eq!(tasks(), before);
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_caller_leaves_the_connection_attempt_to_the_next() {
    let before = tasks();
    let scripted = scripted_peer(|_, message| (message["method"] == "ping").then(|| Ok(json!({}))));
    let server = scripted.clone();
    let greeter = tokio::spawn(async move {
        let mut greeted = 0;
        loop {
            tokio::time::sleep(seconds(3)).await;
            let hellos = server.messages_of("initialize");
            if hellos.len() > greeted {
                greeted = hellos.len();
                server.send(
                    json!({"jsonrpc": "2.0", "id": hellos[greeted - 1].id(), "result": {
                    "protocolVersion": LEGACY, "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                    "serverInfo": {"name": "s", "version": "0"}}}),
                );
            }
        }
    });
    let client = builder()
        .era(EraPreference::Legacy)
        .connect(scripted.lines())
        .await
        .unwrap();
    scripted.disconnect();
    settle().await;
    let mut failed = 0;
    while client
        .ping()
        .idle_timeout(Duration::from_millis(500))
        .await
        .is_err()
    {
        failed += 1;
        assert!(failed < 20);
    }
    assert_eq!(scripted.connection_count(), 2);

    // Dropping the last client ends a connection that is being opened.
    scripted.disconnect();
    settle().await;
    client
        .ping()
        .idle_timeout(Duration::from_millis(500))
        .await
        .unwrap_err();
    greeter.abort();
    drop(client);
    settle().await;
    assert_eq!(tasks(), before);
}
