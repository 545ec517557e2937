//! Attacks over HTTP+SSE, the transport of the first revision.

use std::future::pending;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::attack::Attacker;
use super::calls::{BLANK, LARGE};
use crate::problem::Problem;
use crate::raw::{GREETED, GREETING, Raw, call, request};

const EVENTS: &str = "accept: text/event-stream\r\n";

/// The time after which an attacker that was refused comes again.
const AGAIN: Duration = Duration::from_millis(20);

/// Opens a connection: its stream, and the path for its messages.
async fn open(it: &Attacker) -> Result<(Raw, String), Problem> {
    let mut stream = it.connect().await?;
    stream.ask("GET", "/sse", EVENTS).await;
    match stream.head().await?.status {
        200 => {}
        status => return Err(format!("HTTP+SSE is answered by {status}")),
    }
    let event = stream.chunk().await?;
    let event = String::from_utf8_lossy(&event).into_owned();
    let messages = event.lines().find_map(|line| line.strip_prefix("data: "));
    Ok((stream, messages.ok_or("no endpoint")?.to_owned()))
}

/// Opens connections and keeps them.
pub(super) async fn connections(it: Attacker) -> Result<(), Problem> {
    let mut streams = Vec::new();
    loop {
        streams.extend(open(&it).await.ok());
        sleep(AGAIN).await;
    }
}

/// Opens a connection and vanishes, again and again.
pub(super) async fn connects_again(it: Attacker) -> Result<(), Problem> {
    loop {
        let opened = open(&it).await;
        sleep(AGAIN).await;
        drop(opened);
    }
}

/// Opens a connection, asks for large answers there, and reads none.
pub(super) async fn unread(it: Attacker) -> Result<(), Problem> {
    let (_stream, path) = open(&it).await?;
    let mut raw = it.connect().await?;
    raw.post(&path, "", GREETING).await;
    raw.answer().await?;
    raw.post(&path, "", GREETED).await;
    raw.answer().await?;
    for id in 1..200 {
        let big = request(id, "tools/call", &call("big", &json!({"bytes": 1 << 20})));
        raw.post(&path, "", &big.to_string()).await;
        if raw.answer().await.is_err() {
            break;
        }
    }
    pending().await
}

/// Sends all of large messages but their end.
pub(super) async fn half_messages(it: Attacker) -> Result<(), Problem> {
    let (_stream, path) = open(&it).await?;
    loop {
        let mut raw = it.connect().await?;
        let head = raw.post_head(&path, "", LARGE + 1);
        raw.write(head).await;
        raw.write(BLANK).await;
        let _ = raw.head().await;
        sleep(AGAIN).await;
    }
}

/// Calls something slow and leaves with its stream, again and again.
pub(super) async fn vanishes(it: Attacker) -> Result<(), Problem> {
    loop {
        if let Ok((_stream, path)) = open(&it).await {
            let mut raw = it.connect().await?;
            raw.post(&path, "", GREETING).await;
            let _ = raw.answer().await;
            for id in 1..10 {
                let slow = request(id, "tools/call", &call("slow", &json!({"ms": 5000})));
                raw.post(&path, "", &slow.to_string()).await;
                let _ = raw.answer().await;
            }
        }
        sleep(AGAIN).await;
    }
}
