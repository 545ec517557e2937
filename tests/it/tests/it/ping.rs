//! Pings, both ways.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_session::handler::Limits;
use turnbuckle_session::transport::CloseReason;
use turnbuckle_wire::revision::Revision;

use crate::refusals::Refusals;
use crate::servers::{echo, full_server};
use crate::traced::Traced;

fn pinging(interval: u64, timeout: u64) -> ClientOptions {
    pinging_within(Limits::default(), interval, timeout)
}

fn pinging_within(mut limits: Limits, interval: u64, timeout: u64) -> ClientOptions {
    limits.ping_interval = Some(Duration::from_secs(interval));
    limits.ping_timeout = Duration::from_secs(timeout);
    ClientOptions::new()
        .limits(limits)
        .patience(Duration::from_secs(3600))
}

// requirement: 2a241dfe298b
#[tokio::test(start_paused = true)]
async fn a_ping_is_answered_while_handlers_are_busy() {
    for case in Case::legacy() {
        let mut limits = Limits::default();
        limits.max_in_flight = 3;
        let options = ClientOptions::new().limits(limits);
        let mut client = Client::connect_with(case, &echo(), options).await;
        let nap = json!({"name": "sleep", "arguments": {"seconds": 60}});
        let start = Instant::now();
        let mut naps = Vec::new();
        for _ in 0..3 {
            naps.push(client.start("tools/call", nap.clone()).await);
        }
        let refused = client.request("tools/call", nap).await;
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("in_flight"),
            "{case}: refused by name: {message}"
        );
        for _ in 0..5 {
            assert_eq!(
                client.request("ping", json!({})).await["result"],
                json!({}),
                "{case}"
            );
        }
        assert_eq!(start.elapsed(), Duration::ZERO, "{case}: at once");
        // So is a cancellation.
        client.cancel(naps[0]).await;
        client.wait(Duration::from_secs(3)).await;
        let answer = client.request("tools/list", json!({})).await;
        assert!(answer["result"].is_object(), "{case}: {answer}");
        client.response(naps[1]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_modern_era_has_no_ping() {
    for case in Case::modern() {
        let mut client = Client::connect(case, &echo()).await;
        let answer = client.request("ping", json!({})).await;
        assert_eq!(answer["error"]["code"], -32601, "{case}: {answer}");
    }
}

// requirement: 1e9cd78933ed 4341e25d8457
#[tokio::test(start_paused = true)]
async fn an_interval_pings_the_client() {
    for case in Case::legacy() {
        for interval in [5, 60] {
            let options = pinging(interval, 10);
            let mut client = Client::connect_with(case, &echo(), options).await;
            for round in 0..3 {
                let start = Instant::now();
                let ping = client.next_of("ping").await;
                assert_eq!(start.elapsed().as_secs(), interval, "{case}");
                // An error is a sign of life as good as any.
                match round {
                    0 => client.answer_error(&ping["id"], -32601, "what?").await,
                    _ => client.answer(&ping["id"], json!({})).await,
                }
            }
            assert!(client.request("tools/list", json!({})).await["result"].is_object());
        }
    }
}

// requirement: b6066dea8c7d
#[tokio::test(start_paused = true)]
async fn no_ping_is_sent_unless_asked_for() {
    for case in Case::all() {
        let mut client = Client::connect(case, &full_server()).await;
        client.request("tools/list", json!({})).await;
        client.wait(Duration::from_secs(24 * 3600)).await;
        client.expect_silence().await;
    }
    for case in Case::modern() {
        let mut client = Client::connect_with(case, &full_server(), pinging(5, 5)).await;
        client.request("tools/list", json!({})).await;
        client.wait(Duration::from_secs(3600)).await;
        client.expect_silence().await;
    }
}

// requirement: 8f234495f4ce
#[tokio::test(start_paused = true)]
async fn a_missing_pong_ends_the_session() {
    for case in Case::duplex(Case::legacy()) {
        let mut client = Client::connect_with(case, &full_server(), pinging(30, 10)).await;
        let nap = json!({"name": "sleep", "arguments": {"seconds": 3000}});
        let nap = client.start("tools/call", nap).await;
        let closed = client.closed().await;
        assert!(
            matches!(closed, CloseReason::Broken(_)),
            "{case}: {closed:?}"
        );
        let pings: Vec<&Value> = client
            .received_messages()
            .iter()
            .filter(|message| message["method"] == "ping")
            .collect();
        assert_eq!(pings.len(), 1, "{case}");
        assert!(
            !client
                .received_messages()
                .iter()
                .any(|message| message["id"] == nap)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_is_asked_whether_it_is_there_however_many_requests_wait() {
    for case in Case::duplex(Case::legacy()) {
        let options = pinging_within(Limits::default().max_outgoing_requests(0), 30, 10);
        let mut client = Client::connect_with(case, &echo(), options).await;
        let start = Instant::now();
        let closed = client.closed().await;
        assert!(
            matches!(closed, CloseReason::Broken(_)),
            "{case}: {closed:?}"
        );
        assert_eq!(start.elapsed().as_secs(), 40, "{case}");
    }
}

// requirement: 52a18f50bf03
#[tokio::test(start_paused = true)]
async fn the_time_limit_is_settable() {
    let refusals = Refusals::start();
    for case in Case::duplex(Case::legacy()) {
        for timeout in [3, 50] {
            let options = pinging(10, timeout);
            let mut client = Client::connect_with(case, &echo(), options).await;
            let start = Instant::now();
            client.closed().await;
            assert_eq!(start.elapsed().as_secs(), 10 + timeout, "{case}");
        }
    }
    let sessions = 2 * Case::duplex(Case::legacy()).len();
    assert_eq!(refusals.count("Limits::ping_timeout"), sessions);
}

// requirement: 341bf0d70634
#[tokio::test(start_paused = true)]
async fn a_missing_pong_is_logged() {
    for case in Case::duplex(Case::legacy()) {
        let traced = Traced::start();
        let mut client = Client::connect_with(case, &echo(), pinging(10, 3)).await;
        client.closed().await;
        let logged = traced.with("ping");
        assert_eq!(logged.len(), 1, "{case}: {logged:?}");
        assert!(logged[0].starts_with("WARN"), "{logged:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_pong_ends_a_session_over_exchanges_too() {
    let newest = Case::with_revisions([Revision::NEWEST_LEGACY]);
    let exchanges = |case: &Case| case.binding == Bind::Http;
    for case in newest.into_iter().filter(exchanges) {
        let mut client = Client::connect_with(case, &echo(), pinging(30, 10)).await;
        let call = json!({"name": "echo", "arguments": {"text": "t"}});
        client.wait(Duration::from_secs(35)).await;
        assert!(client.request("tools/call", call.clone()).await["result"].is_object());
        client.wait(Duration::from_secs(10)).await;
        let call = json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": call});
        client.messages().await;
        let answer = client.exchange(&call).await;
        assert!(answer.get("error").is_some(), "{case}: {answer}");
    }
}
