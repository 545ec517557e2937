//! Attacks over HTTP+SSE, the transport of the first revision.

use std::future::pending;

use serde_json::json;

use super::attacker::{Attacker, pause};
use super::calls::post_half;
use crate::problem::Result;
use crate::raw::{EVENTS, INITIALIZE, INITIALIZED, Raw, legacy_call};

/// Opens a connection and returns its stream and the path for its messages.
async fn open(it: &Attacker) -> Result<(Raw, String)> {
    let mut stream = it.connect().await?;
    stream.ask("GET", "/sse", EVENTS).await;
    if !stream.succeeds().await {
        return Err("HTTP+SSE is refused".into());
    }
    let event = String::from_utf8_lossy(&stream.chunk().await?).into_owned();
    let path = event.lines().find_map(|line| line.strip_prefix("data: "));
    Ok((stream, path.ok_or("no endpoint")?.to_owned()))
}

/// Posts messages until one is not answered.
async fn post_all(it: &Attacker, path: &str, messages: impl Iterator<Item = String>) -> Result {
    let mut raw = it.connect().await?;
    for message in messages {
        raw.post(path, "", &message).await;
        if raw.answer().await.is_err() {
            break;
        }
    }
    Ok(())
}

fn handshake() -> impl Iterator<Item = String> {
    [INITIALIZE, INITIALIZED].map(str::to_owned).into_iter()
}

/// Opens connections and keeps them.
pub(super) async fn connections(it: Attacker) -> Result {
    let mut streams = Vec::new();
    loop {
        streams.extend(open(&it).await.ok());
        pause(20).await;
    }
}

/// Opens a connection and vanishes, again and again.
pub(super) async fn connects_again(it: Attacker) -> Result {
    loop {
        let _opened = open(&it).await;
        pause(20).await;
    }
}

/// Opens a connection, asks for large answers there, and reads none.
pub(super) async fn unread(it: Attacker) -> Result {
    let (_stream, path) = open(&it).await?;
    let big = |id| legacy_call(id, "big", json!({"bytes": 1 << 20})).to_string();
    post_all(&it, &path, handshake().chain((1..200).map(big))).await?;
    pending().await
}

/// Sends all of large messages but their end.
pub(super) async fn half_messages(it: Attacker) -> Result {
    let (_stream, path) = open(&it).await?;
    it.repeat(20, async |raw| post_half(raw, &path).await).await
}

/// Calls something slow and leaves with its stream, again and again.
pub(super) async fn vanishes(it: Attacker) -> Result {
    let slow = |id| legacy_call(id, "slow", json!({"ms": 5000})).to_string();
    loop {
        if let Ok((_stream, path)) = open(&it).await {
            post_all(&it, &path, handshake().chain((1..10).map(slow))).await?;
        }
        pause(20).await;
    }
}
