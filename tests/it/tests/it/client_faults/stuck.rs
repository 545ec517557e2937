//! Servers that stand and do not move: they read nothing, take no word, finish no handshake.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;
use turnbuckle_client::{Client, Error, ReconnectPolicy};
use turnbuckle_it::peer::{Peer, Step};
use turnbuckle_session::transport::TimeoutKind;
use turnbuckle_wire::revision::Revision;

use super::{FAULTY, LEGACY, PeerTransport, faulty, is_silence, text_of};
use crate::traced::Traced;

const FOREVER: Step = Step::Wait(Duration::from_secs(1_000_000));
const MINUTE: Duration = Duration::from_secs(60);

fn tasks() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_reading_is_not_written_to_for_ever() {
    for revision in [LEGACY, Revision::NEWEST] {
        let peer = faulty(revision, |_| vec![FOREVER]);
        let client = PeerTransport::Lines.connect(&peer).await;
        let before = tasks();
        // More than the pipe and the queue hold.
        let arguments = json!({"text": "x".repeat(10_000)});
        for _ in 0..5 {
            let mut calls = JoinSet::new();
            for _ in 0..100 {
                let call = client.call_tool(FAULTY, &arguments);
                calls.spawn(async move { call.send().await.unwrap_err() });
            }
            let began = Instant::now();
            while let Some(error) = calls.join_next().await {
                let error = error.unwrap();
                assert!(is_silence(&error), "{error}");
            }
            assert_eq!(
                (began.elapsed(), client.in_flight()),
                (MINUTE, Default::default())
            );
        }
        tokio::time::sleep(MINUTE).await;
        assert!(tasks() <= before, "what cannot be said is forgotten");
        let began = Instant::now();
        client.close().await;
        assert!(began.elapsed() <= Duration::from_secs(2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_no_cancellation_and_no_answer_holds_no_task() {
    let traced = Traced::start();
    let peer = Peer::new(LEGACY, |heard| {
        if heard.message["params"]["name"] == FAULTY {
            let question = json!({"jsonrpc": "2.0", "id": heard.id(), "method": "ping"});
            return Some(vec![Step::Say(question), Step::Hang]);
        }
        let is_word = heard.method().is_empty() && heard.verb == "POST";
        (is_word || heard.method() == "notifications/cancelled").then(|| vec![Step::Hang])
    });
    let client = PeerTransport::Web.connect(&peer).await;
    let (before, standing) = (tasks(), peer.open_count());
    for _ in 0..20 {
        let error = text_of(&client, FAULTY).await.unwrap_err();
        assert!(is_silence(&error), "{error}");
    }
    tokio::time::sleep(2 * MINUTE).await;
    let late = traced.with("did not take an answer in time (ClientLimits::reply_timeout)");
    assert_eq!(late.len(), 20);
    assert_eq!(peer.messages_of("notifications/cancelled").len(), 20);
    assert!(tasks() <= before);
    assert_eq!(peer.open_count(), standing);
}

#[tokio::test(start_paused = true)]
async fn pings_of_a_server_that_does_not_read_are_dropped_at_last() {
    const MANY: usize = 50_000;
    let traced = Traced::start();
    let peer = faulty(LEGACY, |heard| {
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let pings = Step::Repeat(ping.into(), MANY, Duration::ZERO);
        vec![pings, heard.text("answered"), FOREVER]
    });
    let client = PeerTransport::Lines.connect(&peer).await;
    let before = tasks();
    assert_eq!(text_of(&client, FAULTY).await.unwrap(), "answered");
    let most = tasks() - before;
    assert!(most <= 1024, "{most} tasks");
    let dropped = traced.with("one is dropped (ClientLimits::max_queued_replies)");
    assert!(!dropped.is_empty());
    client.close().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(tasks() <= before);
}

/// Creates a server that dies once, and then finishes no handshake.
fn stuck_after_death() -> Peer {
    let greeted = AtomicUsize::new(0);
    Peer::new(LEGACY, move |heard| match heard.method() {
        "initialize" => {
            let again = greeted.fetch_add(1, Ordering::Relaxed) > 0;
            again.then(|| vec![FOREVER])
        }
        "tools/call" => Some(vec![Step::Break]),
        _ => None,
    })
}

#[tokio::test(start_paused = true)]
async fn waiting_for_another_connection_counts_for_the_deadline() {
    for way in [PeerTransport::Lines, PeerTransport::Web] {
        let peer = match way {
            PeerTransport::Lines => stuck_after_death(),
            PeerTransport::Web => {
                let greeted = AtomicUsize::new(0);
                Peer::new(LEGACY, move |heard| match heard.method() {
                    "initialize" => {
                        (greeted.fetch_add(1, Ordering::Relaxed) > 0).then(|| vec![FOREVER])
                    }
                    "tools/call" => Some(vec![Step::Head(404, Vec::new())]),
                    _ => None,
                })
            }
        };
        let client = way.connect(&peer).await;
        // Over HTTP the call waits for the new session, because the server did not take it.
        let error = text_of(&client, "t").await.unwrap_err();
        assert!(
            matches!(way, PeerTransport::Web) || error.is_connection_lost(),
            "{error}"
        );
        let mut calls = JoinSet::new();
        for _ in 0..20 {
            let call = client.call_tool("t", &());
            calls.spawn(async move { call.send().await.unwrap_err() });
        }
        let began = Instant::now();
        while let Some(error) = calls.join_next().await {
            let error = error.unwrap();
            assert!(
                error.is_timeout() || matches!(error, Error::ReconnectsExhausted { .. }),
                "{error:?}"
            );
        }
        assert!(began.elapsed() <= MINUTE, "{way:?} {:?}", began.elapsed());
        let began = Instant::now();
        let call = client
            .call_tool("t", &())
            .idle_timeout(Duration::from_secs(1));
        call.await.unwrap_err();
        assert!(began.elapsed() <= Duration::from_secs(1));
    }
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_no_connection_that_is_being_opened() {
    let reconnects = ReconnectPolicy::new()
        .initial_backoff(Duration::from_secs(1000))
        .window(Duration::from_secs(100_000));
    for tried_before in [0, 1, 2] {
        let builder = Client::builder("c", "1").reconnect_policy(reconnects);
        let client = PeerTransport::Lines
            .connect_by(&stuck_after_death(), builder)
            .await;
        let error = text_of(&client, "t").await.unwrap_err();
        assert!(error.is_connection_lost(), "{error}");
        for _ in 0..tried_before {
            client
                .call_tool("t", &())
                .idle_timeout(Duration::from_secs(1))
                .await
                .unwrap_err();
        }
        let call = client.call_tool("t", &());
        let waiting = tokio::spawn(async move { call.send().await.unwrap_err() });
        tokio::time::sleep(Duration::from_secs(1)).await;
        let began = Instant::now();
        client.close().await;
        assert!(
            began.elapsed() <= Duration::from_secs(2),
            "{:?}",
            began.elapsed()
        );
        let error = waiting.await.unwrap();
        assert!(matches!(error, Error::Closed), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_that_a_call_may_take_in_all_holds_over_every_round_of_it() {
    for way in [PeerTransport::Lines, PeerTransport::Web] {
        let peer = faulty(Revision::NEWEST, |heard| {
            let required = json!({"resultType": "input_required", "requestState": "s"});
            vec![Step::Wait(Duration::from_secs(4)), heard.answer(required)]
        });
        let client = way.connect(&peer).await;
        let began = Instant::now();
        let call = client
            .call_tool(FAULTY, &())
            .total_timeout(Duration::from_secs(10));
        let error = call.await.unwrap_err();
        assert!(
            matches!(error, Error::TimedOut(TimeoutKind::Total(_))),
            "{error:?}"
        );
        assert_eq!(
            error.to_string(),
            "no answer within 10s (Timeouts::total_timeout)"
        );
        assert_eq!(began.elapsed(), Duration::from_secs(10));
        assert_eq!(client.in_flight(), Default::default());
    }
}

#[tokio::test(start_paused = true)]
async fn exhausted_reconnects_report_the_last_error() {
    let greeted = AtomicUsize::new(0);
    let peer = Peer::new(LEGACY, move |heard| match heard.method() {
        "initialize" if greeted.fetch_add(1, Ordering::Relaxed) > 0 => {
            Some(vec![heard.refuse(-32000, "out of order")])
        }
        "tools/call" => Some(vec![Step::Break]),
        _ => None,
    });
    let client = PeerTransport::Lines.connect(&peer).await;
    for _ in 0..6 {
        text_of(&client, "t").await.unwrap_err();
    }
    let error = text_of(&client, "t").await.unwrap_err();
    assert!(
        matches!(error, Error::ReconnectsExhausted { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("out of order"), "{error}");
}
