//! The core of a client against servers that do their worst: deadlines, floods, losses, endings.

use std::future::{IntoFuture, pending, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::by_hand::{ByHand, Desk, builder, legacy, modern, settle};
use serde_json::{Value, json};
use tokio::time::Instant;
use turnbuckle_client::{
    Client, ClientBuilder, Era, Error, FormAnswer, Reconnects, Roots, Verdict,
};
use turnbuckle_session::{
    Connector, ConversationLimits, Frame, Inbox, Late, Link, LinkError, LinkKind, MemoryTransport,
    Opening, Patience, Pump, Transport, pair,
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

/// A modern result that asks the user.
fn question() -> Value {
    json!({"resultType": "input_required", "inputRequests":
        {"q": {"method": "elicitation/create", "params": form()}}})
}

/// Has forms declined after `thinking`, and counts them.
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

async fn heard(wire: &mut MemoryTransport) -> Option<Value> {
    match poll_fn(|cx| wire.poll_frame(cx)).await? {
        Frame::Message(bytes) => Some(serde_json::from_slice(&bytes).unwrap()),
        Frame::TooLong { .. } => panic!("a frame in memory has no cap"),
    }
}

pub(crate) async fn say(wire: &mut MemoryTransport, message: &Value) {
    wire.queue(message.to_string().as_bytes());
    poll_fn(|cx| wire.poll_flush(cx)).await.unwrap();
}

/// Connects over one end of a pair, with a short queue.
struct Narrow(Mutex<Option<MemoryTransport>>);

impl Connector for Narrow {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        let ours = self.0.lock().unwrap().take().unwrap();
        let link: Arc<dyn Link> = Pump::start(ours, inbox, 4096);
        Box::pin(std::future::ready(Ok::<_, LinkError>(link)))
    }

    fn binding(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn reopens(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        "a narrow pipe".into()
    }
}

/// A client, and the wire of its legacy server after the handshake.
pub(crate) async fn greeted(builder: ClientBuilder) -> (Client, MemoryTransport) {
    let (ours, mut theirs) = pair();
    let server = async {
        let initialize = heard(&mut theirs).await.unwrap();
        let greeting = json!({"jsonrpc": "2.0", "id": initialize["id"], "result": {
            "protocolVersion": LEGACY, "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "s", "version": "0"}}});
        say(&mut theirs, &greeting).await;
        let initialized = heard(&mut theirs).await.unwrap();
        assert_eq!(initialized["method"], "notifications/initialized");
        theirs
    };
    let connector = Narrow(Mutex::new(Some(ours)));
    let client = builder.era(Era::Legacy).connect(connector);
    let (client, theirs) = tokio::join!(client, server);
    (client.unwrap(), theirs)
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_ends_nothing_but_its_hearing() {
    let builder = builder().on_noise(|_, _| panic!("on purpose"));
    let (client, desk) = legacy(builder, LEGACY, |_, message| {
        (message["method"] == "ping").then(|| Ok(json!({})))
    })
    .await;
    desk.say(json!("no message"));
    client.ping().await.unwrap();

    let call = client.call("t", &()).on_progress(|_| panic!("on purpose"));
    let server = async {
        settle().await;
        let call = &desk.told_of("tools/call")[0];
        let token = &call["params"]["_meta"]["progressToken"];
        let progress = json!({"progressToken": token, "progress": 1});
        desk.notify("notifications/progress", progress);
        desk.say(result_of(&call["id"]));
    };
    let (result, ()) = tokio::join!(call.into_future(), server);
    result.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_floods_and_does_not_read_is_bounded_and_let_go() {
    for method in ["ping", "no/such", "roots/list"] {
        let before = tasks();
        let (client, mut theirs) = greeted(builder().roots(Roots::new())).await;
        for id in 0..3000 {
            let message = json!({"jsonrpc": "2.0", "id": id, "method": method});
            say(&mut theirs, &message).await;
        }
        settle().await;
        assert!(tasks() < before + 1100, "{method}: {} tasks", tasks());
        drop(client);
        settle().await;
        assert_eq!(tasks(), before, "{method}: what stays");
        while heard(&mut theirs).await.is_some() {}
    }
}

#[tokio::test(start_paused = true)]
async fn requests_that_are_given_up_while_nothing_can_be_sent_leave_nothing() {
    let before = tasks();
    let (client, theirs) = greeted(builder()).await;
    for _ in 0..2000 {
        let ping = client.ping().timeout(Duration::from_millis(1));
        assert!(ping.await.unwrap_err().is_timeout());
    }
    assert_eq!(client.in_flight(), (0, 0));
    assert!(tasks() < before + 1100, "{} tasks", tasks());
    drop(client);
    settle().await;
    assert_eq!(tasks(), before);
    drop(theirs);
}

#[tokio::test(start_paused = true)]
async fn what_waits_to_be_sent_when_the_connection_is_lost_was_not_sent() {
    let (client, theirs) = greeted(builder()).await;
    let arguments = json!({"a": "x".repeat(1000)});
    let calls: Vec<_> = (0..100)
        .map(|_| tokio::spawn(client.call("t", &arguments).into_future()))
        .collect();
    settle().await;
    drop(theirs);
    let mut sent = Vec::new();
    for call in calls {
        match call.await.unwrap() {
            Err(Error::Lost { sent: it, .. }) => sent.push(it),
            other => panic!("{other:?}"),
        }
    }
    // As many as the pipe and its queue hold, and none behind them.
    let taken = sent.partition_point(|sent| *sent);
    assert!((64..80).contains(&taken), "{taken}");
    assert!(!sent[taken..].contains(&true));
}

#[tokio::test(start_paused = true)]
async fn what_the_user_takes_is_not_the_servers_silence() {
    let (builder, _) = declining(Some(seconds(59)));
    let (client, desk) = legacy(builder, LEGACY, |_, _| None).await;
    let call = client.call("t", &());
    let server = async {
        settle().await;
        let id = desk.told_of("tools/call")[0]["id"].clone();
        desk.say(asks("q"));
        tokio::time::sleep(seconds(100)).await;
        desk.say(result_of(&id));
    };
    let (result, ()) = tokio::join!(call.into_future(), server);
    result.unwrap();
}

fn asks(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": form()})
}

/// Asks one question after the other, for ever.
async fn pester(desk: Desk) {
    for id in 0.. {
        tokio::time::sleep(seconds(5)).await;
        desk.say(asks(&id.to_string()));
    }
}

#[tokio::test(start_paused = true)]
async fn no_question_and_no_progress_keeps_a_request_beyond_its_total() {
    let (builder, _) = declining(Some(seconds(4)));
    let (client, desk) = legacy(builder, LEGACY, |_, _| None).await;
    let began = Instant::now();
    let call = client.call("t", &()).timeout_in_all(seconds(600));
    let error = tokio::select! {
        outcome = call.into_future() => outcome.unwrap_err(),
        () = pester(desk.clone()) => unreachable!(),
    };
    assert!(matches!(error, Error::TimedOut(Late::InAll(all)) if all == seconds(600)));
    assert_eq!(began.elapsed(), seconds(600));
    settle().await;
    assert_eq!(desk.told_of("notifications/cancelled").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_total_holds_for_all_rounds_and_the_users_time() {
    let (builder, asked) = declining(Some(seconds(50)));
    let (client, desk) = modern(builder, |_, _| Some(Ok(question()))).await;
    let began = Instant::now();
    let call = client.call("t", &()).timeout_in_all(seconds(120));
    let error = call.await.unwrap_err();
    assert!(matches!(error, Error::TimedOut(Late::InAll(all)) if all == seconds(120)));
    assert_eq!(began.elapsed(), seconds(120));
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    // Each round was answered: there is nothing to be taken back.
    settle().await;
    assert!(desk.told_of("notifications/cancelled").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_ends_its_request() {
    for limits in [
        None,
        Some(ConversationLimits::new().answer_deadline(seconds(9))),
    ] {
        let bound = limits.as_ref().map_or(600, |_| 9);
        let setting = limits.unwrap_or_default();
        let ask = async |thinking| {
            let (builder, _) = declining(thinking);
            let (client, _desk) = modern(builder.limits(setting.clone()), |_, message| {
                let answered = message["params"].get("inputResponses").is_some();
                Some(Ok(if answered {
                    json!({"content": []})
                } else {
                    question()
                }))
            })
            .await;
            client.call("t", &()).await
        };
        ask(Some(seconds(bound - 1))).await.unwrap();
        let began = Instant::now();
        let error = ask(None).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the server's question (elicitation/create) was not answered: it took longer \
                than {bound}s (ConversationLimits::answer_deadline)"
            )
        );
        assert_eq!(began.elapsed(), seconds(bound));
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_for_a_round_that_will_not_be() {
    let (builder, asked) = declining(Some(Duration::ZERO));
    let builder = builder.max_rounds(2);
    let (client, desk) = modern(builder, |_, _| Some(Ok(question()))).await;
    let error = client.call("t", &()).await.unwrap_err();
    assert!(
        matches!(error, Error::TooManyRounds { limit: 2 }),
        "{error}"
    );
    assert_eq!(desk.told_of("tools/call").len(), 3);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_a_call_whose_user_is_being_asked() {
    let (builder, _) = declining(None);
    let (client, _desk) = modern(builder, |_, _| Some(Ok(question()))).await;
    let call = tokio::spawn(client.call("t", &()).into_future());
    settle().await;
    client.close().await;
    let ended = tokio::time::timeout(seconds(1), call).await.unwrap();
    let error = ended.unwrap().unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn patience_without_end_is_no_panic() {
    let (client, _desk) = legacy(builder(), LEGACY, |_, _| Some(Ok(json!({"content": []})))).await;
    let call = client.call("t", &()).timeout(Duration::MAX);
    call.timeout_in_all(Duration::MAX).await.unwrap();

    let reconnects = Reconnects::new().within(Duration::MAX);
    let (client, desk) = legacy(builder().reconnects(reconnects), LEGACY, |_, _| {
        Some(Ok(json!({"content": []})))
    })
    .await;
    for _ in 0..2 {
        desk.hang_up();
        settle().await;
        client.call("t", &()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_the_next_try() {
    let reconnects = Reconnects::new().backoff(seconds(3600));
    let (client, desk) = legacy(builder().reconnects(reconnects), LEGACY, |_, _| {
        Some(Ok(json!({})))
    })
    .await;
    desk.hang_up();
    settle().await;
    client.ping().await.unwrap();
    desk.hang_up();
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
async fn a_server_that_greets_no_more_is_not_asked_twice_a_try_when_its_era_is_pinned() {
    for (era, tries) in [(Era::Legacy, 1), (Era::Known(Verdict::Legacy), 2)] {
        let (by_hand, desk) = ByHand::new(|connection, message| {
            Some(match (connection, message["method"].as_str()) {
                (1, Some("initialize")) => Ok(json!({"protocolVersion": LEGACY,
                    "capabilities": {"tools": {}, "resources": {}, "prompts": {}}, "serverInfo": {"name": "s", "version": "0"}})),
                (1, _) => Ok(json!({})),
                _ => Err(-32603),
            })
        });
        let client = builder().era(era).connect(by_hand).await.unwrap();
        desk.hang_up();
        settle().await;
        client.ping().await.unwrap_err();
        // Where the era is open, what the server was may no longer be so: it is probed, and greeted.
        assert_eq!(desk.told_of("initialize").len(), 1 + tries, "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn giving_up_tells_of_the_last_try_and_passes() {
    let (by_hand, desk) = ByHand::new(|connection, message| {
        Some(match (connection, message["method"].as_str()) {
            (1 | 7, Some("initialize")) => Ok(json!({"protocolVersion": LEGACY,
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}}, "serverInfo": {"name": "s", "version": "0"}})),
            (1 | 7, _) => Ok(json!({})),
            _ => Err(-32099),
        })
    });
    let client = builder().era(Era::Legacy).connect(by_hand).await.unwrap();
    desk.hang_up();
    settle().await;
    for _ in 0..5 {
        let error = client.ping().await.unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{error}");
    }
    let error = client.ping().await.unwrap_err();
    assert!(
        matches!(error, Error::GivenUp { attempts: 5, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("-32099"), "{error}");
    assert_eq!(desk.connections(), 6);
    tokio::time::sleep(seconds(61)).await;
    client.ping().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_at_the_probe_and_refuses_to_be_greeted_is_told_of_soon() {
    let (by_hand, desk) =
        ByHand::new(|_, message| (message["method"] == "initialize").then_some(Err(-32001)));
    let began = Instant::now();
    let error = builder().connect(by_hand).await.unwrap_err();
    assert!(error.to_string().contains("-32001"), "{error}");
    assert!(began.elapsed() <= seconds(6), "{:?}", began.elapsed());
    settle().await;
    assert!(desk.told_of("notifications/cancelled").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_was_handed_in_tells_how_it_ended() {
    let (client, theirs) = greeted(builder()).await;
    drop(theirs);
    settle().await;
    for _ in 0..10 {
        let error = client.call("t", &()).await.unwrap_err();
        assert!(matches!(error, Error::Lost { sent: false, .. }), "{error}");
        assert!(error.to_string().contains("closed its output"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_keep_alive_that_fails_ends_the_connection_and_its_link() {
    let before = tasks();
    let patient = Patience::at_most(seconds(600));
    let builder = builder().patience(patient);
    let builder = builder.keep_alive(seconds(30), seconds(5));
    let (client, mut theirs) = greeted(builder).await;
    assert_eq!(heard(&mut theirs).await.unwrap()["method"], "ping");
    tokio::time::sleep(seconds(6)).await;
    while heard(&mut theirs).await.is_some() {}
    settle().await;
    assert_eq!(tasks(), before);
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_does_not_wait_for_the_connection_leaves_it_to_the_next() {
    let before = tasks();
    let (by_hand, desk) =
        ByHand::new(|_, message| (message["method"] == "ping").then(|| Ok(json!({}))));
    let told = desk.clone();
    let greeter = tokio::spawn(async move {
        let mut greeted = 0;
        loop {
            tokio::time::sleep(seconds(3)).await;
            let hellos = told.told_of("initialize");
            if hellos.len() > greeted {
                greeted = hellos.len();
                told.say(
                    json!({"jsonrpc": "2.0", "id": hellos[greeted - 1]["id"], "result": {
                    "protocolVersion": LEGACY, "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                    "serverInfo": {"name": "s", "version": "0"}}}),
                );
            }
        }
    });
    let client = builder().era(Era::Legacy).connect(by_hand).await.unwrap();
    desk.hang_up();
    settle().await;
    let mut failed = 0;
    while client
        .ping()
        .timeout(Duration::from_millis(500))
        .await
        .is_err()
    {
        failed += 1;
        assert!(failed < 20);
    }
    assert_eq!(desk.connections(), 2);

    // The last client takes a connection that is being opened with it.
    desk.hang_up();
    settle().await;
    client
        .ping()
        .timeout(Duration::from_millis(500))
        .await
        .unwrap_err();
    greeter.abort();
    drop(client);
    settle().await;
    assert_eq!(tasks(), before);
}
