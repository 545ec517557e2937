//! How long connecting and answering may take, and what waits for that, on both sides of each line.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::by_hand::{ByHand, ERAS, builder, legacy, settle};
use crate::core::{greeted, say, tasks};
use serde_json::{Value, json};
use turnbuckle_client::{ClientBuilder, Error, FormAnswer};
use turnbuckle_session::{ConversationLimits, Frame, Joined, MemoryTransport, Transport, pair};
use turnbuckle_wire::revision::EraKind;

/// The least that a clock tells apart.
const TICK: Duration = Duration::from_millis(1);

/// A server that thinks before its first answer, and what it is told.
fn slow(thinking: Duration) -> (Joined<MemoryTransport>, Arc<Mutex<Vec<String>>>) {
    let (ours, mut theirs) = pair();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let hears = told.clone();
    tokio::spawn(async move {
        while let Some(Frame::Message(bytes)) = poll_fn(|cx| theirs.poll_frame(cx)).await {
            let message: Value = serde_json::from_slice(&bytes).unwrap();
            let method = message["method"].as_str().unwrap();
            hears.lock().unwrap().push(method.to_owned());
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
    (Joined::new(ours), told)
}

#[tokio::test(start_paused = true)]
async fn a_connection_has_to_be_ready_in_time() {
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
async fn a_server_that_answers_the_probe_in_time_is_not_greeted() {
    let longer = builder().probe_timeout(Duration::from_secs(7));
    for (builder, bound) in [(builder(), 3), (longer, 7)] {
        let (slow, told) = slow(Duration::from_secs(bound) - TICK);
        let client = builder.connect(slow).await.unwrap();
        assert_eq!(client.server().unwrap().era(), EraKind::Modern);
        assert_eq!(*told.lock().unwrap(), ["server/discover"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_raw_request_has_its_time_in_all_connecting_included() {
    let (by_hand, desk) = ByHand::new(|connection, message| match message["method"].as_str() {
        Some("initialize") if connection == 1 => Some(Ok(json!({"capabilities": {},
            "protocolVersion": "2025-11-25", "serverInfo": {"name": "s", "version": "0"}}))),
        _ => None,
    });
    let client = builder().era(ERAS[1]).connect(by_hand).await.unwrap();
    for connections in [1, 2] {
        let (began, second) = (tokio::time::Instant::now(), Duration::from_secs(1));
        let late = client.raw("ping", None, Some(second)).await.unwrap_err();
        assert!(matches!(late, Error::TimedOut(_)), "{late}");
        assert_eq!(began.elapsed(), second);
        assert_eq!(desk.connections(), connections);
        desk.hang_up();
        settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn so_many_answers_wait_for_so_long_to_be_taken() {
    let fewer = ConversationLimits::new()
        .replies(5)
        .reply_time(Duration::from_secs(9));
    for (limits, replies, seconds) in [(ConversationLimits::new(), 1024, 60), (fewer, 5, 9)] {
        let (_client, mut theirs) = greeted(builder().limits(limits)).await;
        // The clock of the handshake stops.
        tokio::time::sleep(Duration::from_secs(60)).await;
        let before = tasks();
        // Nobody reads: what the pipe and its queue do not hold waits, one task for each.
        for id in 0..3000 {
            let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
            say(&mut theirs, &ping).await;
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
async fn a_question_of_a_legacy_server_has_to_be_answered_in_time() {
    let shorter = ConversationLimits::new().answer_deadline(Duration::from_secs(9));
    for (limits, bound) in [(ConversationLimits::new(), 600), (shorter, 9)] {
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
        let (_client, desk) = legacy(builder, "2025-11-25", |_, _| None).await;
        for id in ["in time", "late"] {
            desk.say(
                json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params":
                {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}),
            );
            tokio::time::sleep(bound + 9 * TICK).await;
        }
        let told = desk.told();
        let answer = |id: &str| told.iter().find(|message| message["id"] == id).unwrap();
        assert_eq!(answer("in time")["result"]["action"], "decline");
        assert_eq!(
            answer("late")["error"]["message"],
            "the answer took longer than this client allows (ConversationLimits::answer_deadline)"
        );
    }
}
