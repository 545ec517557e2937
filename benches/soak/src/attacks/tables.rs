//! Attacks on tables: connections, heads, sessions, streams and subscriptions.

use std::future::pending;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::attacker::{Attacker, pause};
use crate::problem::Result;
use crate::random::Random;
use crate::raw::{EVENTS, Raw, flood, legacy_call, of_session, request};
use crate::server::WATCHED;

/// Resources that one attacker subscribes to.
const RESOURCES: u64 = 1000;

/// Connects and says nothing.
pub(super) async fn silent(it: Attacker) -> Result {
    let _raw = it.connect().await?;
    pending().await
}

pub(super) async fn connects_again(it: Attacker) -> Result {
    it.repeat(20, async |raw| raw.write("POST /mcp HTT").await)
        .await
}

pub(super) async fn slow_head(it: Attacker) -> Result {
    let head = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: 1";
    it.repeat(0, async |raw| {
        raw.drip(head, Duration::from_millis(200)).await
    })
    .await
}

/// Sends a head of the largest size, but for its end.
pub(super) async fn large_head(it: Attacker) -> Result {
    let mut raw = it.connect().await?;
    let padding = "x".repeat((64 << 10) - 200);
    let head = format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-padding: {padding}");
    raw.write(head).await;
    pending().await
}

pub(super) async fn garbage(it: Attacker) -> Result {
    let mut random = Random::new(it.number as u64);
    it.repeat(0, async |raw| {
        let bytes: Vec<u8> = (0..2000).map(|_| random.below(256) as u8).collect();
        raw.write(bytes).await;
        let _ = raw.head().await;
    })
    .await
}

/// Opens sessions on a connection until one is refused, and then on another.
pub(super) async fn handshakes(it: Attacker) -> Result {
    it.repeat(20, async |raw| while raw.initialize().await.is_ok() {})
        .await
}

/// Opens sessions, and a stream of each, which keeps it in use.
pub(super) async fn session_streams(it: Attacker) -> Result {
    it.gather(async |raw| {
        let Ok(session) = raw.open().await else {
            return false;
        };
        get_stream(raw, &session, "").await;
        raw.succeeds().await
    })
    .await
}

/// Asks for the stream of a session.
async fn get_stream(raw: &mut Raw, session: &str, headers: &str) {
    let headers = format!("{EVENTS}{}{headers}", of_session(session));
    raw.ask("GET", "/mcp", &headers).await;
}

/// Opens subscriptions of the modern era.
pub(super) async fn listens(it: Attacker) -> Result {
    it.gather(async |raw| {
        raw.modern("subscriptions/listen", subscription()).await;
        raw.succeeds().await
    })
    .await
}

/// Opens subscriptions of the modern era and leaves, again and again.
pub(super) async fn listens_again(it: Attacker) -> Result {
    it.repeat(20, async |raw| {
        raw.modern("subscriptions/listen", subscription()).await;
        let _ = raw.head().await;
    })
    .await
}

fn subscription() -> Value {
    json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": [WATCHED]}})
}

/// Subscribes a session to as many resources as it may.
pub(super) async fn subscribes(it: Attacker) -> Result {
    let (mut raw, session) = it.open().await?;
    for number in 0..RESOURCES {
        let uri = json!({"uri": format!("soak://note/{}-{number}", it.number)});
        let subscribe = request(number, "resources/subscribe", uri);
        raw.legacy(&session, &subscribe).await;
        raw.answer().await?;
    }
    pending().await
}

/// Sends a request, ends its side of the connection, and reads nothing.
pub(super) async fn half_closed(it: Attacker) -> Result {
    it.repeat(1000, async |raw| {
        raw.call("slow", json!({"ms": 1000})).await;
        let _ = raw.stream.shutdown().await;
    })
    .await
}

/// Sends requests whose target has another authority than Host.
pub(super) async fn foreign_authority(it: Attacker) -> Result {
    it.repeat(20, async |raw| {
        for _ in 0..100 {
            raw.ask("GET", "http://evil.example/mcp", EVENTS).await;
            if raw.answer().await.is_err() {
                break;
            }
        }
    })
    .await
}

/// Sends a token that no principal has.
pub(super) async fn wrong_token(mut it: Attacker) -> Result {
    it.route.token = Some("wrong-token".into());
    it.repeat(20, async |raw| {
        for _ in 0..100 {
            raw.modern("ping", json!({})).await;
            if raw.answer().await.is_err() {
                break;
            }
        }
    })
    .await
}

/// Opens sessions and ends them.
pub(super) async fn ended_sessions(it: Attacker) -> Result {
    it.repeat(20, async |raw| {
        while let Ok(session) = raw.open().await
            && raw.delete(&session).await.is_ok()
        {}
    })
    .await
}

/// Comes back to a stream that has messages, and leaves, again and again.
pub(super) async fn resumes(it: Attacker) -> Result {
    let (mut raw, session) = it.open().await?;
    raw.legacy(&session, &request(1, "tools/call", flood(200)))
        .await;
    raw.head().await?;
    let event = String::from_utf8_lossy(&raw.chunk().await?).into_owned();
    let id = event.lines().find_map(|line| line.strip_prefix("id: "));
    let last = format!("last-event-id: {}\r\n", id.ok_or("an event without an id")?);
    it.repeat(20, async |raw| {
        get_stream(raw, &session, &last).await;
        let _ = raw.head().await;
    })
    .await
}

/// Comes back to streams that never were, of its session and of another.
pub(super) async fn wrong_resumptions(it: Attacker) -> Result {
    let (_raw, session) = it.open().await?;
    let ids = [
        "",
        "0-0",
        "7-1",
        "1-99999999999999999999",
        "x",
        "-",
        "1-1.1.1",
    ];
    let mut ids = ids.iter().cycle();
    it.repeat(20, async |raw| {
        let last = format!("last-event-id: {}\r\n", ids.next().unwrap_or(&""));
        get_stream(raw, &session, &last).await;
        let _ = raw.head().await;
        get_stream(raw, "unknown", &last).await;
    })
    .await
}

/// Opens streams of one session while its resources change, and leaves, again and again.
pub(super) async fn streams_again(it: Attacker) -> Result {
    let (mut raw, session) = it.open().await?;
    let subscribe = request(1, "resources/subscribe", json!({"uri": WATCHED}));
    raw.legacy(&session, &subscribe).await;
    raw.answer().await?;
    loop {
        let mut stream = it.connect().await?;
        get_stream(&mut stream, &session, "").await;
        raw.legacy(&session, &legacy_call(2, "touch", json!({})))
            .await;
        raw.answer().await?;
        pause(20).await;
    }
}

/// Opens sessions and calls in them and in the modern era, as often as it can. Every other session is ended.
pub(super) async fn sound_sessions(it: Attacker) -> Result {
    for number in 0.. {
        let (mut raw, session) = it.open().await?;
        for id in 0..50 {
            let arguments = json!({"message": "hello", "number": id});
            let echo = legacy_call(id, "echo", arguments.clone());
            raw.legacy(&session, &echo).await;
            raw.answer().await?;
            raw.call("echo", arguments).await;
            raw.answer().await?;
        }
        if number % 2 == 0 {
            raw.delete(&session).await?;
        }
    }
    Ok(())
}
