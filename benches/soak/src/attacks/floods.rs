//! Attacks on tables: connections, heads, sessions, streams and subscriptions.

use std::future::pending;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

use super::attack::Attacker;
use crate::problem::Problem;
use crate::random::Random;
use crate::raw::{Raw, call, of_session, request};
use crate::server::WATCHED;

const EVENTS: &str = "accept: text/event-stream\r\n";

/// The time between two bytes of a slow head.
const SLOW: Duration = Duration::from_millis(200);

/// The time after which an attacker that was refused comes again.
const AGAIN: Duration = Duration::from_millis(20);

/// Resources that one attacker subscribes to.
const RESOURCES: usize = 1000;

/// Connects and says nothing.
pub(super) async fn silent(it: Attacker) -> Result<(), Problem> {
    let _raw = it.connect().await?;
    pending().await
}

pub(super) async fn connects_again(it: Attacker) -> Result<(), Problem> {
    loop {
        let mut raw = it.connect().await?;
        raw.write("POST /mcp HTT").await;
        sleep(AGAIN).await;
    }
}

pub(super) async fn slow_head(it: Attacker) -> Result<(), Problem> {
    loop {
        let mut raw = it.connect().await?;
        for byte in b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: 1".iter() {
            raw.write([*byte]).await;
            sleep(SLOW).await;
        }
    }
}

/// Sends a head that is as large as a head may be, but for its end.
pub(super) async fn large_head(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    let padding = "x".repeat((64 << 10) - 200);
    let head = format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-padding: {padding}");
    raw.write(head).await;
    pending().await
}

pub(super) async fn garbage(it: Attacker) -> Result<(), Problem> {
    let mut random = Random::new(1, u64::try_from(it.number).unwrap_or_default());
    loop {
        let mut raw = it.connect().await?;
        let bytes = random.bytes(2000);
        raw.write(bytes).await;
        let _ = raw.head().await;
    }
}

/// Opens sessions on a connection until one is refused, and then on another.
pub(super) async fn handshakes(it: Attacker) -> Result<(), Problem> {
    loop {
        let mut raw = it.connect().await?;
        while raw.greet().await.is_ok() {}
        sleep(AGAIN).await;
    }
}

/// Opens sessions, and a stream of each, which keeps it in use.
pub(super) async fn session_streams(it: Attacker) -> Result<(), Problem> {
    let mut streams = Vec::new();
    loop {
        let mut raw = it.connect().await?;
        if let Ok(session) = raw.open().await {
            let headers = format!("{EVENTS}{}", of_session(&session));
            raw.ask("GET", "/mcp", &headers).await;
            if raw.head().await.is_ok_and(|head| head.status == 200) {
                streams.push(raw);
            }
        }
        sleep(AGAIN).await;
    }
}

/// Opens subscriptions of the modern era.
pub(super) async fn listens(it: Attacker) -> Result<(), Problem> {
    let mut streams = Vec::new();
    loop {
        let mut raw = it.connect().await?;
        let params = json!({"notifications": {"toolsListChanged": true,
            "resourceSubscriptions": [WATCHED]}});
        raw.modern("subscriptions/listen", params).await;
        if raw.head().await.is_ok_and(|head| head.status == 200) {
            streams.push(raw);
        }
        sleep(AGAIN).await;
    }
}

/// Subscribes a session to as many resources as it may.
pub(super) async fn subscribes(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    let session = raw.open().await?;
    for number in 0..RESOURCES {
        let uri = format!("soak://note/{}-{number}", it.number);
        let subscribe = request(number as u64, "resources/subscribe", &json!({"uri": uri}));
        raw.legacy(&session, &subscribe).await;
        raw.answer().await?;
    }
    pending().await
}

/// Sends a request, says that nothing more will come, and reads nothing.
pub(super) async fn half_closed(it: Attacker) -> Result<(), Problem> {
    loop {
        let mut raw = it.connect().await?;
        raw.modern("tools/call", call("slow", &json!({"ms": 1000})))
            .await;
        let _ = raw.stream.shutdown().await;
        sleep(50 * AGAIN).await;
    }
}

/// Sends requests whose target has another authority than Host.
pub(super) async fn foreign_authority(it: Attacker) -> Result<(), Problem> {
    loop {
        let mut raw = it.connect().await?;
        for _ in 0..100 {
            raw.ask("GET", "http://evil.example/mcp", EVENTS).await;
            if raw.answer().await.is_err() {
                break;
            }
        }
        sleep(AGAIN).await;
    }
}

/// Sends a token that nobody has.
pub(super) async fn wrong_token(it: Attacker) -> Result<(), Problem> {
    let mut route = it.route.clone();
    route.token = Some("token-that-nobody-has".into());
    loop {
        let mut raw = Raw::connect_by(route.clone()).await?;
        for _ in 0..100 {
            raw.modern("ping", json!({})).await;
            if raw.answer().await.is_err() {
                break;
            }
        }
        sleep(AGAIN).await;
    }
}

/// Opens sessions and ends them.
pub(super) async fn ended_sessions(it: Attacker) -> Result<(), Problem> {
    loop {
        let mut raw = it.connect().await?;
        while let Ok(session) = raw.open().await {
            raw.ask("DELETE", "/mcp", &of_session(&session)).await;
            raw.answer().await?;
        }
        sleep(AGAIN).await;
    }
}

/// Comes back to a stream that has messages, and leaves, again and again.
pub(super) async fn resumes(it: Attacker) -> Result<(), Problem> {
    let mut raw = it.connect().await?;
    let session = raw.open().await?;
    let flood = json!({"name": "flood", "arguments": {"messages": 200},
        "_meta": {"progressToken": 1}});
    raw.legacy(&session, &request(1, "tools/call", &flood))
        .await;
    raw.head().await?;
    let event = raw.chunk().await?;
    let event = String::from_utf8_lossy(&event).into_owned();
    let id = event.lines().find_map(|line| line.strip_prefix("id: "));
    let id = id.ok_or("an event without an id")?;
    let headers = format!("{EVENTS}{}last-event-id: {id}\r\n", of_session(&session));
    loop {
        let mut raw = it.connect().await?;
        raw.ask("GET", "/mcp", &headers).await;
        let _ = raw.head().await;
        sleep(AGAIN).await;
    }
}

/// Opens subscriptions of the modern era and leaves, again and again.
pub(super) async fn listens_again(it: Attacker) -> Result<(), Problem> {
    loop {
        let mut raw = it.connect().await?;
        let params = json!({"notifications": {"resourceSubscriptions": [WATCHED]}});
        raw.modern("subscriptions/listen", params).await;
        let _ = raw.head().await;
        sleep(AGAIN).await;
    }
}
