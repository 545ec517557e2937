//! Very many sessions and very many requests, all of them sound: what a server needs for them it
//! gives back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::Problem;
use crate::counts::Table;
use crate::raw::{Raw, call, of_session, request};
use crate::role::said;
use crate::server::OVER;
use crate::started::Started;

/// Sessions that are opened, and requests that are made.
const SESSIONS: u64 = 10_000;
const REQUESTS: u64 = 1_000_000;

/// Of each a part that comes before the first look.
const WARM_UP: u64 = 20;

/// Connections that carry them.
const CONNECTIONS: u64 = 32;

/// Requests in a session; then the next is opened. Every other one is closed.
const IN_SESSION: u64 = REQUESTS / 2 / SESSIONS;

/// Opens the sessions and makes the requests, half of them in sessions and half in the modern era,
/// and looks at what is left.
pub(crate) async fn volume() -> Result<(), Problem> {
    let server = Started::start().await?;
    load(&server, SESSIONS / WARM_UP).await?;
    let mut table = Table::new(server.settled().await?);
    let began = Instant::now();
    let requests = load(&server, SESSIONS).await?;
    let took = began.elapsed();
    let deadline = Instant::now() + 4 * OVER;
    while Instant::now() < deadline {
        sleep(Duration::from_millis(500)).await;
        table.sample(server.counts().await?);
        if table.left().is_empty() {
            break;
        }
    }
    server.end().await?;
    println!("after {SESSIONS} sessions and {requests} requests in {took:.0?}\n{table}");
    match table.left() {
        left if left.is_empty() => Ok(()),
        left => Err(format!("the server holds {}", left.join(", "))),
    }
}

/// So many sessions, and the requests that belong to them.
async fn load(server: &Started, sessions: u64) -> Result<u64, Problem> {
    let place = server.place;
    let next = Arc::new(AtomicU64::new(0));
    let made = Arc::new(AtomicU64::new(0));
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (next, made) = (next.clone(), made.clone());
        connections.spawn(async move {
            let mut raw = Raw::connect(place.address).await?;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= sessions {
                    return Ok::<(), Problem>(());
                }
                session(&mut raw, number).await?;
                made.fetch_add(2 * IN_SESSION, Ordering::Relaxed);
            }
        });
    }
    while let Some(ended) = connections.join_next().await {
        ended.map_err(said)??;
    }
    Ok(made.load(Ordering::Relaxed))
}

/// One session, and as many modern requests beside those that it has.
async fn session(raw: &mut Raw, number: u64) -> Result<(), Problem> {
    let session = raw.open().await?;
    for id in 0..IN_SESSION {
        let echo = call("echo", &json!({"message": "hello", "number": id}));
        raw.legacy(&session, &request(id, "tools/call", &echo))
            .await;
        answered(raw).await?;
        raw.modern("tools/call", echo).await;
        answered(raw).await?;
    }
    if number.is_multiple_of(2) {
        raw.ask("DELETE", "/mcp", &of_session(&session)).await;
        raw.answer().await?;
    }
    Ok(())
}

async fn answered(raw: &mut Raw) -> Result<(), Problem> {
    let (head, body) = raw.answer().await?;
    let is_answer = head.status == 200 && body.windows(5).any(|part| part == b"hello");
    match is_answer {
        true => Ok(()),
        false => Err(format!(
            "a wrong answer ({}): {}",
            head.status,
            String::from_utf8_lossy(&body)
        )),
    }
}
