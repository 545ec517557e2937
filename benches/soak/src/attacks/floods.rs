//! Attacks on tables: connections, heads, sessions, streams and subscriptions.

use std::future::pending;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::attack::Attacker;
use crate::problem::Problem;
use crate::random::Random;
use crate::raw::{Raw, of_session, request};
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

pub(super) async fn silent_from_own(it: Attacker) -> Result<(), Problem> {
    let _raw = it.connect_from_own().await?;
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

pub(super) async fn handshakes(it: Attacker) -> Result<(), Problem> {
    loop {
        let raw = it.connect().await?;
        greet_often(raw).await;
        sleep(AGAIN).await;
    }
}

pub(super) async fn handshakes_from_own(it: Attacker) -> Result<(), Problem> {
    loop {
        let raw = it.connect_from_own().await?;
        greet_often(raw).await;
        sleep(AGAIN).await;
    }
}

/// Opens sessions on a connection until one is refused.
async fn greet_often(mut raw: Raw) {
    while raw.greet().await.is_ok() {}
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

/// Opens connections of HTTP+SSE.
pub(super) async fn sse_connections(it: Attacker) -> Result<(), Problem> {
    let mut streams = Vec::new();
    loop {
        let mut raw = it.connect().await?;
        raw.ask("GET", "/sse", EVENTS).await;
        if raw.head().await.is_ok_and(|head| head.status == 200) {
            streams.push(raw);
        }
        sleep(AGAIN).await;
    }
}
