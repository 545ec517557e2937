//! Attacks on memory and time: bodies that do not come, answers that are not read, and calls without an end.

use std::future::pending;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::attacker::{Attacker, pause};
use crate::problem::Result;
use crate::random::Random;
use crate::raw::{Raw, call, flood, legacy_call, modern, of_session, request};

/// The bytes of a large message: nearly as many as a message may have.
const LARGE: usize = (4 << 20) - (64 << 10);

/// A large body, which all attackers share.
static BLANK: &[u8] = &[b' '; LARGE];

/// Posts all of a large body but its end, and waits for an answer.
pub(super) async fn post_half(raw: &mut Raw, path: &str) {
    let head = raw.post_head(path, "", LARGE + 1);
    raw.write(head).await;
    raw.write(BLANK).await;
    let _ = raw.head().await;
}

pub(super) async fn half_body(it: Attacker) -> Result {
    it.repeat(50, async |raw| post_half(raw, "/mcp").await)
        .await
}

/// Sends a body byte by byte.
pub(super) async fn slow_body(it: Attacker) -> Result {
    it.repeat(0, async |raw| {
        let head = raw.post_head("/mcp", "", 1000);
        raw.write(head).await;
        raw.drip(&[b' '; 100], Duration::from_millis(50)).await;
    })
    .await
}

/// Hangs up anywhere in a request.
pub(super) async fn cut_off(it: Attacker) -> Result {
    let (headers, body) = modern("tools/call", call("slow", json!({"ms": 50})));
    let mut random = Random::new(it.number as u64);
    it.repeat(20, async |raw| {
        let request = raw.post_head("/mcp", &headers, body.len()) + &body;
        let end = random.below(request.len() as u64) as usize;
        raw.write(&request[..end]).await;
    })
    .await
}

/// Sends more than a message may have, announced by its length or in chunks.
pub(super) async fn too_large(it: Attacker) -> Result {
    let piece = [format!("{:x}\r\n", LARGE).as_bytes(), BLANK, b"\r\n"].concat();
    it.repeat(50, async |raw| {
        if it.number.is_multiple_of(2) {
            let head = raw.post_head("/mcp", "", 1 << 30);
            raw.write(head).await;
        } else {
            let headers = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
            raw.ask("POST", "/mcp", headers).await;
        }
        for _ in 0..3 {
            raw.write(&piece).await;
        }
        let _ = raw.head().await;
    })
    .await
}

/// Sends bodies that are deep, long lists of nothing, or have members beyond their limits.
pub(super) async fn deep_json(it: Attacker) -> Result {
    let ping = request(5, "ping", json!({}));
    let long = json!({"cursor": "c".repeat(10_000)});
    let bodies = [
        "[".repeat(1 << 20),
        "{\"a\":".repeat(100_000),
        format!("[{}0]", "0,".repeat(1 << 20)),
        Value::from(vec![ping; 101]).to_string(),
        request(1, "tools/list", long).to_string(),
        legacy_call(2, &"n".repeat(5000), json!({})).to_string(),
    ];
    it.repeat(0, async |raw| {
        for body in &bodies {
            raw.post("/mcp", "", body).await;
            let _ = raw.answer().await;
        }
    })
    .await
}

/// Asks for a large answer and does not read it.
pub(super) async fn unread_answer(it: Attacker) -> Result {
    let mut raw = it.connect().await?;
    raw.call("big", json!({"bytes": LARGE})).await;
    pending().await
}

/// Asks for a large answer in a session and does not read it.
pub(super) async fn unread_in_session(it: Attacker) -> Result {
    let (mut raw, session) = it.open().await?;
    raw.legacy(&session, &legacy_call(1, "big", json!({"bytes": LARGE})))
        .await;
    pending().await
}

/// Asks for many messages on a stream and does not read them.
pub(super) async fn unread_stream(it: Attacker) -> Result {
    let mut raw = it.connect().await?;
    raw.modern("tools/call", flood(20_000)).await;
    pending().await
}

/// Asks for many messages in a session and does not read them.
pub(super) async fn unread_stream_in_session(it: Attacker) -> Result {
    let (mut raw, session) = it.open().await?;
    raw.legacy(&session, &request(1, "tools/call", flood(20_000)))
        .await;
    pending().await
}

/// Sends request after request on one connection and reads no answer.
pub(super) async fn unread_pipeline(it: Attacker) -> Result {
    let mut raw = it.connect().await?;
    loop {
        raw.call("big", json!({"bytes": 1 << 20})).await;
    }
}

/// Asks for a large answer and reads it byte by byte.
pub(super) async fn slow_reader(it: Attacker) -> Result {
    let mut raw = it.connect().await?;
    raw.call("big", json!({"bytes": LARGE})).await;
    while matches!(raw.stream.read(&mut [0]).await, Ok(1)) {
        pause(50).await;
    }
    pending().await
}

/// Calls with a large message in a session and leaves, again and again.
pub(super) async fn left_behind(it: Attacker) -> Result {
    let (_raw, session) = it.open().await?;
    let mut large = call("slow", json!({"ms": 5000}));
    large["_meta"]["padding"] = "x".repeat(LARGE).into();
    let call = request(1, "tools/call", large).to_string();
    loop {
        let mut raw = it.connect().await?;
        raw.post("/mcp", &of_session(&session), &call).await;
        pause(50).await;
        drop(raw);
        pause(1000).await;
    }
}

/// Calls with a small message in a session and leaves, as often as it can.
pub(super) async fn small_left_behind(it: Attacker) -> Result {
    let (_raw, session) = it.open().await?;
    let mut ids = 0..;
    it.repeat(10, async |raw| {
        let slow = legacy_call(ids.next().unwrap_or(0), "slow", json!({"ms": 60_000}));
        raw.legacy(&session, &slow).await;
    })
    .await
}

/// Fills the replay log of a session's stream and leaves it there.
pub(super) async fn replay_log(it: Attacker) -> Result {
    let (mut raw, session) = it.open().await?;
    for id in 0.. {
        let mut flood = flood(2000);
        flood["_meta"] = json!({"progressToken": id});
        raw.legacy(&session, &request(id, "tools/call", flood))
            .await;
        if raw.answer().await.is_err() {
            break;
        }
    }
    pending().await
}

/// Calls something slow and hangs up.
pub(super) async fn vanishes(it: Attacker) -> Result {
    it.repeat(50, async |raw| raw.call("slow", json!({"ms": 5000})).await)
        .await
}

/// Calls without a pause, and reads the answers.
pub(super) async fn full_speed(it: Attacker) -> Result {
    let mut raw = it.connect().await?;
    let arguments = json!({"message": "m".repeat(100), "number": 1});
    loop {
        raw.call("echo", arguments.clone()).await;
        raw.answer().await?;
    }
}

/// Ends its session while calls run.
pub(super) async fn ended_in_call(it: Attacker) -> Result {
    loop {
        let (mut raw, session) = it.open().await?;
        let mut calls = Vec::new();
        for id in 0..4 {
            let mut other = it.connect().await?;
            let slow = legacy_call(id, "slow", json!({"ms": 30_000}));
            other.legacy(&session, &slow).await;
            calls.push(other);
        }
        raw.delete(&session).await?;
        for mut call in calls {
            // Each is answered, or its stream ends.
            let _ = call.answer().await;
        }
        pause(20).await;
    }
}

/// Cancels all its calls, calls that were answered, and calls that never were.
pub(super) async fn cancelled(it: Attacker) -> Result {
    let (mut raw, session) = it.open().await?;
    loop {
        let mut calls = Vec::new();
        for id in 0..8 {
            let mut other = it.connect().await?;
            let ms = if id % 2 == 0 { 0 } else { 30_000 };
            let slow = legacy_call(id, "slow", json!({"ms": ms}));
            other.legacy(&session, &slow).await;
            calls.push(other);
        }
        for id in 0..16 {
            let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": id}});
            raw.legacy(&session, &cancelled).await;
            raw.answer().await?;
        }
        pause(20).await;
    }
}

/// Sends answers, errors and progress for requests that the server never sent.
pub(super) async fn unasked_answers(it: Attacker) -> Result {
    let (mut raw, session) = it.open().await?;
    let ids = [json!(0), json!("x"), json!(-7), json!(1.5), Value::Null];
    for id in ids.iter().cycle() {
        for message in [
            json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {}}}),
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "no"}}),
            json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": id, "progress": 1}}),
        ] {
            raw.legacy(&session, &message).await;
            raw.answer().await?;
        }
    }
    Ok(())
}

/// Comes back with request states that the server has not given.
pub(super) async fn forged_state(it: Attacker) -> Result {
    let mut form = call("form", json!({}));
    form["requestState"] = "A".repeat(100_000).into();
    form["inputResponses"] = json!({"0": {"action": "accept", "content": {"name": "x"}}});
    let mut raw = it.connect().await?;
    loop {
        raw.modern("tools/call", form.clone()).await;
        raw.answer().await?;
    }
}

/// Has the server ask questions, and answers none: those of sessions wait, the others do not.
pub(super) async fn questions(it: Attacker) -> Result {
    let (mut raw, session) = it.open().await?;
    for id in 0.. {
        let mut asked = it.connect().await?;
        asked
            .legacy(&session, &legacy_call(id, "form", json!({})))
            .await;
        raw.call("form", json!({})).await;
        raw.answer().await?;
        pause(50).await;
    }
    Ok(())
}
