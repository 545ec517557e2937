//! Very many sessions and very many requests, all of them sound: what a server needs for them it
//! gives back. They come beside the clients that behave badly, or alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::address::ServerAddress;
use crate::counts::Table;
use crate::problem::{Problem, to_problem};
use crate::raw::{Raw, call, of_session, request};
use crate::server::OVER;
use crate::started::Started;

/// Sessions that are opened, and requests that are made.
pub(crate) const SESSIONS: u64 = 10_000;
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
    let server = Started::frugal().await?;
    load(server.place, SESSIONS / WARM_UP, Duration::ZERO).await?;
    let mut table = Table::new(server.wait_until_empty().await?);
    let began = Instant::now();
    let requests = load(server.place, SESSIONS, Duration::ZERO).await?;
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

/// Runs so many sessions, begun one after the other over that time, and the requests that belong to them.
/// How many requests that were.
pub(crate) async fn load(
    place: ServerAddress,
    sessions: u64,
    over: Duration,
) -> Result<u64, Problem> {
    let began = Instant::now();
    let gap = over / u32::try_from(sessions.max(1)).unwrap_or(u32::MAX);
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
                sleep_until(began + gap * u32::try_from(number).unwrap_or(u32::MAX)).await;
                session(&mut raw, number).await?;
                made.fetch_add(2 * IN_SESSION, Ordering::Relaxed);
            }
        });
    }
    while let Some(ended) = connections.join_next().await {
        ended.map_err(to_problem)??;
    }
    Ok(made.load(Ordering::Relaxed))
}

/// Runs one session, and as many modern requests beside those that it has.
async fn session(raw: &mut Raw, number: u64) -> Result<(), Problem> {
    let session = raw.open().await?;
    for id in 0..IN_SESSION {
        let echo = call("echo", &json!({"message": "hello", "number": id}));
        raw.legacy(&session, &request(id, "tools/call", &echo))
            .await;
        check_answer(raw).await?;
        raw.modern("tools/call", echo).await;
        check_answer(raw).await?;
    }
    if number.is_multiple_of(2) {
        raw.ask("DELETE", "/mcp", &of_session(&session)).await;
        raw.answer().await?;
    }
    Ok(())
}

async fn check_answer(raw: &mut Raw) -> Result<(), Problem> {
    let (head, body) = raw.answer().await?;
    let is_answer = head.status == 200 && body.windows(5).any(|part| part == b"hello");
    if is_answer {
        Ok(())
    } else {
        Err(format!(
            "a wrong answer ({}): {}",
            head.status,
            String::from_utf8_lossy(&body)
        ))
    }
}
