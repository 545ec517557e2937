//! Attacks on memory and time: bodies that do not come, answers that nobody reads, and calls without end.

use std::future::pending;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::time::sleep;

use super::attack::Attacker;
use crate::problem::Problem;
use crate::raw::{call, of_session, request};

/// The bytes of a large message: nearly as many as a message may have.
pub(super) const LARGE: usize = (4 << 20) - (64 << 10);

/// A large body, which all attackers share.
pub(super) static BLANK: &[u8] = &[b' '; LARGE];

/// The time after which an attacker that was refused comes again.
const AGAIN: Duration = Duration::from_millis(50);

/// Returns the parameters of a call that takes long and is large.
fn large_call() -> Value {
    let mut params = call("slow", &json!({"ms": 5000}));
    params["_meta"]["padding"] = "x".repeat(LARGE).into();
    params
}

/// Sends all of a large body but its end.
pub(super) async fn half_body(it: Attacker) -> Result<(), Problem> {
    loop {
        let mut raw = it.connect().await?;
        let head = raw.post_head("/mcp", "", LARGE + 1);
        raw.write(head).await;
        raw.write(BLANK).await;
        let _ = raw.head().await;
        sleep(AGAIN).await;
    }
}

/// Asks for a large answer and does not read it.
pub(super) async fn unread_answer(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    raw.modern("tools/call", call("big", &json!({"bytes": LARGE})))
        .await;
    pending().await
}

/// Asks for many messages on a stream and does not read them.
pub(super) async fn unread_stream(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    let flood = json!({"name": "flood", "arguments": {"messages": 20_000},
        "_meta": {"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"}});
    raw.modern("tools/call", flood).await;
    pending().await
}

/// Calls with a large message in a session and leaves, again and again.
pub(super) async fn left_behind(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    let session = raw.open().await?;
    let call = request(1, "tools/call", &large_call()).to_string();
    loop {
        let mut raw = it.connect().await?;
        raw.post("/mcp", &of_session(&session), &call).await;
        sleep(AGAIN).await;
        drop(raw);
        sleep(20 * AGAIN).await;
    }
}

/// Calls with a small message in a session and leaves, as often as it can.
pub(super) async fn small_left_behind(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    let session = raw.open().await?;
    let slow = call("slow", &json!({"ms": 60_000}));
    for id in 0.. {
        let mut raw = it.connect().await?;
        raw.legacy(&session, &request(id, "tools/call", &slow))
            .await;
        sleep(AGAIN / 5).await;
    }
    Ok(())
}

/// Fills the replay log of a session's stream and leaves it there.
pub(super) async fn replay_log(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    let session = raw.open().await?;
    for id in 0.. {
        let flood = json!({"name": "flood", "arguments": {"messages": 2000},
            "_meta": {"progressToken": id}});
        raw.legacy(&session, &request(id, "tools/call", &flood))
            .await;
        if raw.answer().await.is_err() {
            break;
        }
    }
    pending().await
}

/// Calls something slow and hangs up.
pub(super) async fn vanishes(it: Attacker) -> Result<(), Problem> {
    loop {
        let mut raw = it.connect().await?;
        raw.modern("tools/call", call("slow", &json!({"ms": 5000})))
            .await;
        sleep(AGAIN).await;
    }
}

/// Calls without a pause, and reads the answers.
pub(super) async fn full_speed(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    let echo = call("echo", &json!({"message": "m".repeat(100), "number": 1}));
    loop {
        raw.modern("tools/call", echo.clone()).await;
        raw.answer().await?;
    }
}

/// Sends a body byte by byte.
pub(super) async fn slow_body(it: Attacker) -> Result<(), Problem> {
    loop {
        let mut raw = it.connect().await?;
        let head = raw.post_head("/mcp", "", 1000);
        raw.write(head).await;
        for _ in 0..100 {
            raw.write(b" ").await;
            sleep(AGAIN).await;
        }
    }
}

/// Sends bodies that are deep, or long lists of nothing.
pub(super) async fn deep_json(it: Attacker) -> Result<(), Problem> {
    let bodies = [
        "[".repeat(1 << 20),
        "{\"a\":".repeat(100_000),
        format!("[{}0]", "0,".repeat(1 << 20)),
    ];
    loop {
        let mut raw = it.connect().await?;
        for body in &bodies {
            raw.post("/mcp", "", body).await;
            let _ = raw.answer().await;
        }
    }
}

/// Comes back with request states that the server has not given.
pub(super) async fn forged_state(it: Attacker) -> Result<(), Problem> {
    let mut form = call("form", &json!({}));
    form["requestState"] = "A".repeat(100_000).into();
    form["inputResponses"] = json!({"0": {"action": "accept", "content": {"name": "x"}}});
    let mut raw = it.connect().await?;
    loop {
        raw.modern("tools/call", form.clone()).await;
        raw.answer().await?;
    }
}

/// Asks for a large answer in a session and does not read it.
pub(super) async fn unread_in_session(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    let session = raw.open().await?;
    let big = request(1, "tools/call", &call("big", &json!({"bytes": LARGE})));
    raw.legacy(&session, &big).await;
    pending().await
}

/// Sends request after request on one connection and reads no answer.
pub(super) async fn unread_pipeline(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    loop {
        let big = call("big", &json!({"bytes": 1 << 20}));
        raw.modern("tools/call", big).await;
    }
}

/// Asks for a large answer and reads it byte by byte.
pub(super) async fn slow_reader(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    raw.modern("tools/call", call("big", &json!({"bytes": LARGE})))
        .await;
    let mut byte = [0];
    while matches!(raw.stream.read(&mut byte).await, Ok(1)) {
        sleep(AGAIN).await;
    }
    pending().await
}

/// Asks for many messages in a session and does not read them.
pub(super) async fn unread_stream_in_session(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    let session = raw.open().await?;
    let flood = json!({"name": "flood", "arguments": {"messages": 20_000},
        "_meta": {"progressToken": 1}});
    raw.legacy(&session, &request(1, "tools/call", &flood))
        .await;
    pending().await
}

/// Has the server ask questions, and answers none: those of sessions wait, the others do not.
pub(super) async fn questions(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    let session = raw.open().await?;
    let form = call("form", &json!({}));
    for id in 0.. {
        let mut asked = it.connect().await?;
        asked
            .legacy(&session, &request(id, "tools/call", &form))
            .await;
        raw.modern("tools/call", form.clone()).await;
        raw.answer().await?;
        sleep(AGAIN).await;
    }
    Ok(())
}
