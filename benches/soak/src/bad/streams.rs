//! Streams that are opened and left, or not read.

use serde_json::json;
use tokio::time::sleep;

use crate::address::ServerAddress;
use crate::problem::Problem;
use crate::random::Random;
use crate::random::sleep_randomly;
use crate::raw::{Raw, call, of_session, request};
use crate::server::WATCHED;

const EVENTS: &str = "accept: text/event-stream\r\n";

/// Calls something slow in the modern era and hangs up.
pub(super) async fn hangs_up_modern(
    place: ServerAddress,
    mut random: Random,
) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let ms = random.choose(&[5, 150, 250, 30_000]);
    raw.modern("tools/call", call("slow", &json!({"ms": ms})))
        .await;
    sleep_randomly(&mut random, 400).await;
    Ok(())
}

/// Does likewise in a session, which stays.
pub(super) async fn hangs_up_legacy(
    place: ServerAddress,
    mut random: Random,
) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let session = raw.open().await?;
    let (tool, arguments) = random.choose(&[
        ("slow", json!({"ms": 300})),
        ("slow", json!({"ms": 4000})),
        ("flood", json!({"messages": 200})),
    ]);
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": 1}});
    raw.legacy(&session, &request(1, "tools/call", &params))
        .await;
    sleep_randomly(&mut random, 400).await;
    Ok(())
}

/// Asks for very much, and reads none of it.
pub(super) async fn never_reads(place: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let flood = json!({"name": "flood", "arguments": {"messages": 20_000},
        "_meta": {"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"}});
    if random.below(2) == 0 {
        raw.modern("tools/call", flood).await;
    } else {
        let session = raw.open().await?;
        raw.legacy(&session, &request(1, "tools/call", &flood))
            .await;
    }
    let mut others = Vec::new();
    for _ in 0..4 {
        let mut other = Raw::connect(place.address).await?;
        other
            .modern("tools/call", call("big", &json!({"bytes": 1_000_000})))
            .await;
        others.push(other);
    }
    sleep_randomly(&mut random, 3000).await;
    Ok(())
}

/// Comes back to streams that are not there: each time it is told so.
pub(super) async fn resumes_wrongly(
    place: ServerAddress,
    mut random: Random,
) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let session = raw.open().await?;
    for id in [
        "",
        "0-0",
        "7-1",
        "1-99999999999999999999",
        "x",
        "-",
        "1-1.1.1",
    ] {
        let mut other = Raw::connect(place.address).await?;
        let headers = format!("{EVENTS}{}last-event-id: {id}\r\n", of_session(&session));
        other.ask("GET", "/mcp", &headers).await;
        let head = other.head().await?;
        if !matches!(head.status, 200 | 400) {
            return Err(format!("the id {id:?} is answered by {}", head.status));
        }
        sleep_randomly(&mut random, 20).await;
    }
    let headers = format!("{EVENTS}{}", of_session("nobody"));
    let mut raw = Raw::connect(place.address).await?;
    raw.ask("GET", "/mcp", &headers).await;
    match raw.head().await?.status {
        404 => Ok(()),
        status => Err(format!("a session that never was is answered by {status}")),
    }
}

/// Subscribes in the modern era and vanishes.
pub(super) async fn subscribes_and_vanishes(
    place: ServerAddress,
    mut random: Random,
) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let params = json!({"notifications": {"toolsListChanged": true,
        "resourceSubscriptions": [WATCHED, "soak://note/1"]}});
    raw.modern("subscriptions/listen", params).await;
    let head = raw.head().await?;
    if head.status != 200 {
        return Err(format!("a subscription is answered by {}", head.status));
    }
    let mut other = Raw::connect(place.address).await?;
    other.modern("tools/call", call("touch", &json!({}))).await;
    other.answer().await?;
    sleep_randomly(&mut random, 1000).await;
    Ok(())
}

/// Does likewise in a session, with its stream for everything open, or several.
pub(super) async fn follows_and_vanishes(
    place: ServerAddress,
    mut random: Random,
) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let session = raw.open().await?;
    let mut streams = Vec::new();
    for _ in 0..1 + random.below(10) {
        let mut stream = Raw::connect(place.address).await?;
        stream
            .ask("GET", "/mcp", &format!("{EVENTS}{}", of_session(&session)))
            .await;
        streams.push(stream);
    }
    for (id, uri) in [(1, WATCHED), (2, "soak://note/1"), (3, WATCHED)] {
        let subscribe = request(id, "resources/subscribe", &json!({"uri": uri}));
        raw.legacy(&session, &subscribe).await;
        raw.answer().await?;
    }
    let touch = request(4, "tools/call", &call("touch", &json!({})));
    raw.legacy(&session, &touch).await;
    raw.answer().await?;
    sleep(std::time::Duration::from_millis(random.below(1000) as u64)).await;
    Ok(())
}
