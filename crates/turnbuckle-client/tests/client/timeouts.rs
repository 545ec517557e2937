//! Timeouts and bounds of connecting and answering, just within and just beyond each.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::requests::{connect_legacy, send, tasks};
use crate::scripted_server::{ERAS, builder, legacy, scripted_peer, settle};
use serde_json::{Value, json};
use turnbuckle_client::{ClientBuilder, Error, FormAnswer, ReconnectPolicy};
use turnbuckle_it::peer::PeerConnectors;
use turnbuckle_session::transport::{
    ClientLimits, Frame, MemoryTransport, Transport, TransportConnector, memory_pair,
};
use turnbuckle_wire::revision::EraKind;

/// The resolution of the clock.
const TICK: Duration = Duration::from_millis(1);

/// Returns a connector to a server that delays its first answer, and the messages to it.
fn slow(thinking: Duration) -> (TransportConnector<MemoryTransport>, Arc<Mutex<Vec<String>>>) {
    let (ours, mut theirs) = memory_pair();
    let methods: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = methods.clone();
    tokio::spawn(async move {
        while let Some(Frame::Message(bytes)) = poll_fn(|cx| theirs.poll_frame(cx)).await {
            let message: Value = serde_json::from_slice(&bytes).unwrap();
            let method = message["method"].as_str().unwrap();
            log.lock().unwrap().push(method.to_owned());
            tokio::time::sleep(thinking).await;
            let result = match method {
                "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {},
                    "serverInfo": {"name": "slow", "version": "0"}}),
                "server/discover" => json!({"resultType": "complete", "ttlMs": 0,
                    "cacheScope": "private", "supportedVersions": ["2026-07-28"],
                    "capabilities": {}}),
                _ => continue,
            };
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            theirs.queue(answer.to_string().as_bytes());
            if poll_fn(|cx| theirs.poll_flush(cx)).await.is_err() {
                return;
            }
        }
    });
    (TransportConnector::new(ours), methods)
}

#[tokio::test(start_paused = true)]
async fn a_connection_must_be_ready_within_its_timeout() {
    for era in ERAS {
        let usual = || builder().era(era);
        let shorter = || usual().connect_timeout(Duration::from_secs(9));
        let builders: [(&dyn Fn() -> ClientBuilder, u64); 2] = [(&usual, 30), (&shorter, 9)];
        for (build, bound) in builders {
            let bound = Duration::from_secs(bound);
            build().connect(slow(bound - TICK).0).await.unwrap();
            let began = tokio::time::Instant::now();
            let error = build().connect(slow(bound + TICK).0).await.unwrap_err();
            assert!(error.is_timeout(), "{error}");
            assert_eq!(
                error.to_string(),
                format!(
                    "the connection was not ready within {bound:?} (ClientBuilder::connect_timeout)"
                )
            );
            assert_eq!(began.elapsed(), bound);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_answered_in_time_sends_no_handshake() {
    let longer = builder().probe_timeout(Duration::from_secs(7));
    for (builder, bound) in [(builder(), 3), (longer, 7)] {
        let (slow, methods) = slow(Duration::from_secs(bound) - TICK);
        let client = builder.connect(slow).await.unwrap();
        assert_eq!(client.server_info().unwrap().era(), EraKind::Modern);
        assert_eq!(*methods.lock().unwrap(), ["server/discover"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_raw_request_includes_connecting() {
    let scripted = scripted_peer(|connection, message| match message["method"].as_str() {
        Some("initialize") if connection == 1 => Some(Ok(json!({"capabilities": {},
            "protocolVersion": "2025-11-25", "serverInfo": {"name": "s", "version": "0"}}))),
        _ => None,
    });
    let client = builder()
        .era(ERAS[1])
        .connect(scripted.lines())
        .await
        .unwrap();
    for connections in [1, 2] {
        let (began, second) = (tokio::time::Instant::now(), Duration::from_secs(1));
        let late = client
            .request_raw("ping", None, Some(second))
            .await
            .unwrap_err();
        assert!(matches!(late, Error::TimedOut(_)), "{late}");
        assert_eq!(began.elapsed(), second);
        assert_eq!(scripted.connection_count(), connections);
        scripted.disconnect();
        settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn queued_replies_are_limited_in_number_and_time() {
    let fewer = ClientLimits::new()
        .max_queued_replies(5)
        .reply_timeout(Duration::from_secs(9));
    for (limits, replies, seconds) in [(ClientLimits::new(), 1024, 60), (fewer, 5, 9)] {
        let (_client, mut theirs) = connect_legacy(builder().limits(limits)).await;
        // The time of the handshake ends.
        tokio::time::sleep(Duration::from_secs(60)).await;
        let before = tasks();
        // Nothing is read: a task for each reply that neither pipe nor queue holds.
        for id in 0..3000 {
            let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
            send(&mut theirs, &ping).await;
            tokio::task::yield_now().await;
        }
        settle().await;
        assert_eq!(tasks(), before + replies);
        tokio::time::sleep(Duration::from_secs(seconds) - 9 * TICK).await;
        assert_eq!(tasks(), before + replies);
        tokio::time::sleep(9 * TICK).await;
        assert_eq!(tasks(), before);
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_legacy_server_times_out() {
    let shorter = ClientLimits::new().handler_timeout(Duration::from_secs(9));
    for (limits, bound) in [(ClientLimits::new(), 600), (shorter, 9)] {
        let (bound, asked) = (Duration::from_secs(bound), Mutex::new(0));
        let builder = builder().limits(limits).on_form(move |_, _| {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            let thinking = match *asked {
                1 => bound - TICK,
                _ => bound + TICK,
            };
            async move {
                tokio::time::sleep(thinking).await;
                FormAnswer::Decline
            }
        });
        let (_client, scripted) = legacy(builder, "2025-11-25", |_, _| None).await;
        for id in ["in time", "late"] {
            scripted.send(
                json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params":
                {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}),
            );
            tokio::time::sleep(bound + 9 * TICK).await;
        }
        let messages = scripted.messages();
        let answer = |id: &str| &messages.iter().find(|it| it.id() == id).unwrap().message;
        assert_eq!(answer("in time")["result"]["action"], "decline");
        assert_eq!(
            answer("late")["error"]["message"],
            "the answer took longer than this client allows (ClientLimits::handler_timeout)"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_longest_timeouts_do_not_overflow() {
    let (client, _scripted) = legacy(builder(), "2025-11-25", |_, _| {
        Some(Ok(json!({"content": []})))
    })
    .await;
    let call = client.call_tool("t", &()).idle_timeout(Duration::MAX);
    call.total_timeout(Duration::MAX).await.unwrap();

    let reconnects = ReconnectPolicy::new().window(Duration::MAX);
    let (client, scripted) = legacy(
        builder().reconnect_policy(reconnects),
        "2025-11-25",
        |_, _| Some(Ok(json!({"content": []}))),
    )
    .await;
    for _ in 0..2 {
        scripted.disconnect();
        settle().await;
        client.call_tool("t", &()).await.unwrap();
    }
}
