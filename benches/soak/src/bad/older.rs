//! HTTP+SSE, the transport of the first revision.

use serde_json::{Value, json};

use crate::address::ServerAddress;
use crate::problem::Problem;
use crate::random::Random;
use crate::random::sleep_randomly;
use crate::raw::{GREETED, Raw, call, request};

/// Opens a stream: it, and where messages go.
async fn open(place: ServerAddress) -> Result<(Raw, String), Problem> {
    let mut stream = Raw::connect(place.address).await?;
    stream
        .ask("GET", "/sse", "accept: text/event-stream\r\n")
        .await;
    let head = stream.head().await?;
    if head.status != 200 {
        return Err(format!("HTTP+SSE is answered by {}", head.status));
    }
    let first = String::from_utf8_lossy(&stream.chunk().await?).into_owned();
    let target = first
        .split("data: ")
        .nth(1)
        .map(|rest| rest.trim().to_owned());
    let target = target.ok_or_else(|| format!("no endpoint: {first:?}"))?;
    Ok((stream, target))
}

async fn post(place: ServerAddress, target: &str, message: &str) -> Result<u16, Problem> {
    let mut raw = Raw::connect(place.address).await?;
    raw.post(target, "", message).await;
    Ok(raw.answer().await?.0.status)
}

async fn greet(place: ServerAddress, target: &str) -> Result<(), Problem> {
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {},
        "clientInfo": {"name": "bad", "version": "1"}});
    for message in [
        request(0, "initialize", &params).to_string(),
        GREETED.to_owned(),
    ] {
        let status = post(place, target, &message).await?;
        if status != 202 {
            return Err(format!("a handshake over HTTP+SSE is answered by {status}"));
        }
    }
    Ok(())
}

/// Opens the stream and leaves, before or after a word.
pub(super) async fn opens_and_vanishes(
    place: ServerAddress,
    mut random: Random,
) -> Result<(), Problem> {
    let (stream, target) = open(place).await?;
    if random.below(2) == 0 {
        greet(place, &target).await?;
    }
    drop(stream);
    sleep_randomly(&mut random, 50).await;
    let late = request(1, "ping", &Value::Null).to_string();
    match post(place, &target, &late).await? {
        202 | 400 | 404 => Ok(()),
        status => Err(format!("a connection that is gone is answered by {status}")),
    }
}

/// Leaves while calls run.
pub(super) async fn hangs_up_in_mid_call(
    place: ServerAddress,
    mut random: Random,
) -> Result<(), Problem> {
    let (stream, target) = open(place).await?;
    greet(place, &target).await?;
    for id in 1..5 {
        let slow = call("slow", &json!({"ms": 30_000}));
        post(
            place,
            &target,
            &request(id, "tools/call", &slow).to_string(),
        )
        .await?;
    }
    sleep_randomly(&mut random, 200).await;
    drop(stream);
    Ok(())
}

/// Asks for much and reads nothing of it.
pub(super) async fn never_reads(place: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let (stream, target) = open(place).await?;
    greet(place, &target).await?;
    for id in 1..20 {
        let big = request(id, "tools/call", &call("big", &json!({"bytes": 900_000})));
        // When its queue is full it is told so.
        post(place, &target, &big.to_string()).await?;
    }
    sleep_randomly(&mut random, 2000).await;
    drop(stream);
    Ok(())
}
