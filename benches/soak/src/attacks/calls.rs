//! Attacks on memory and time: bodies that do not come, answers that nobody reads, and calls without end.

use std::future::pending;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::attack::Attacker;
use crate::problem::Problem;
use crate::raw::{Raw, call, of_session, request};

/// The bytes of a large message: nearly as many as a message may have.
const LARGE: usize = (4 << 20) - (64 << 10);

/// A large body, which all attackers share.
static BLANK: &[u8] = &[b' '; LARGE];

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
        send_half(it.connect().await?).await;
        sleep(AGAIN).await;
    }
}

pub(super) async fn half_body_from_own(it: Attacker) -> Result<(), Problem> {
    loop {
        send_half(it.connect_from_own().await?).await;
        sleep(AGAIN).await;
    }
}

async fn send_half(mut raw: Raw) {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n",
        LARGE + 1
    );
    raw.write(head).await;
    raw.write(BLANK).await;
    let _ = raw.head().await;
}

/// Asks for a large answer and does not read it.
pub(super) async fn unread_answer(it: Attacker) -> Result<(), Problem> {
    ask_for_much(it.connect().await?).await
}

pub(super) async fn unread_answer_from_own(it: Attacker) -> Result<(), Problem> {
    ask_for_much(it.connect_from_own().await?).await
}

async fn ask_for_much(mut raw: Raw) -> Result<(), Problem> {
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

/// Opens a connection of HTTP+SSE, asks for much there, and reads nothing.
pub(super) async fn unread_sse(it: Attacker) -> Result<(), Problem> {
    let mut stream = it.connect().await?;
    stream
        .ask("GET", "/sse", "accept: text/event-stream\r\n")
        .await;
    stream.head().await?;
    let event = stream.chunk().await?;
    let event = String::from_utf8_lossy(&event).into_owned();
    let messages = event.lines().find_map(|line| line.strip_prefix("data: "));
    let messages = messages.ok_or("no endpoint")?.to_owned();
    let mut raw = it.connect().await?;
    for id in 0..200 {
        let (_, body) = crate::raw::modern("tools/call", call("big", &json!({"bytes": 1 << 20})));
        raw.post(
            &messages,
            "",
            &body.replacen("\"id\":1", &format!("\"id\":{id}"), 1),
        )
        .await;
        if raw.answer().await.is_err() {
            break;
        }
    }
    pending().await
}
