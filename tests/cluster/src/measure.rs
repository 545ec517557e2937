//! Measures what stored sessions cost, and what a question costs whose answer comes to another instance.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use http_body_util::BodyExt as _;
use hyper::StatusCode;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;
use turnbuckle_engines::{RedisServer, find_program};

use crate::instance::Instances;
use crate::problem::Problem;
use crate::raw_http::{Connection, Events, in_session};

/// The connections that open sessions side by side.
const CONNECTIONS: usize = 16;

/// Options of the measurement.
#[derive(Args)]
pub(crate) struct Options {
    /// The number of sessions that are opened and left
    #[arg(long, default_value_t = 10_000)]
    sessions: usize,
    /// The number of questions
    #[arg(long, default_value_t = 200)]
    questions: usize,
}

/// Measures, and prints the figures.
pub(crate) async fn run(options: Options) -> Result<(), Problem> {
    let redis = RedisServer::start();
    let instances = Instances::start(redis.url(), PathBuf::from("/dev/null")).await?;
    let places: Vec<SocketAddr> = instances
        .ports()
        .into_iter()
        .map(|port| ([127, 0, 0, 1], port).into())
        .collect();
    measure_questions(&places, options.questions).await?;
    measure_sessions(&redis, &instances, places[0], options.sessions).await
}

async fn measure_sessions(
    redis: &RedisServer,
    instances: &Instances,
    place: SocketAddr,
    sessions: usize,
) -> Result<(), Problem> {
    let process = instances.process_ids()[0];
    let (memory, store) = (resident_kib(process)?, redis_bytes(redis)?);
    let began = Instant::now();
    let left = Arc::new(AtomicUsize::new(sessions));
    let mut openers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let left = left.clone();
        openers.spawn(async move {
            let mut connection = Connection::open(place).await?;
            let take = |count: usize| count.checked_sub(1);
            while left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_ok()
            {
                connection.open_session().await?;
            }
            Ok::<_, Problem>(())
        });
    }
    while let Some(opened) = openers.join_next().await {
        opened??;
    }
    let took = began.elapsed();
    let grown = redis_bytes(redis)?.saturating_sub(store) / sessions.max(1) as u64;
    println!("{sessions} sessions in {took:?}: {grown} bytes of Redis for each");
    println!(
        "resident: {memory} KiB before, {} KiB after",
        resident_kib(process)?
    );
    Ok(())
}

/// Measures the time from an answer to the result of its call.
async fn measure_questions(places: &[SocketAddr], count: usize) -> Result<(), Problem> {
    let session = Connection::open(places[0]).await?.open_session().await?;
    for (name, to) in [("same", places[0]), ("other", places[1])] {
        let mut times = Vec::new();
        let mut answering = Connection::open(to).await?;
        for number in 0..count {
            let mut asking = Connection::open(places[0]).await?;
            let call = json!({
                "jsonrpc": "2.0", "id": format!("{name}{number}"), "method": "tools/call",
                "params": { "name": "ask", "arguments": { "text": "?" } },
            });
            let mut events = Events::new(asking.post(&in_session(&session), &call).await?);
            let question = events.next().await?;
            let answer = json!({
                "jsonrpc": "2.0", "id": question["id"],
                "result": { "action": "accept", "content": { "answer": "!" } },
            });
            let began = Instant::now();
            let accepted = answering.post(&in_session(&session), &answer).await?;
            if accepted.status() != StatusCode::ACCEPTED {
                return Err(format!("an answer came to {}", accepted.status()).into());
            }
            accepted.into_body().collect().await?;
            let result = events.next().await?;
            times.push(began.elapsed());
            if result["result"]["content"][0]["text"] != "!" {
                return Err(format!("the call came to {result}").into());
            }
        }
        times.sort_unstable();
        let at = |part: usize| {
            times
                .get(times.len() * part / 100)
                .copied()
                .unwrap_or_default()
        };
        println!(
            "answered at the {name} instance: p50 {:?}, p99 {:?}",
            at(50),
            at(99)
        );
    }
    Ok(())
}

fn resident_kib(process: u32) -> Result<u64, Problem> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let line = line.ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

fn redis_bytes(redis: &RedisServer) -> Result<u64, Problem> {
    let output = std::process::Command::new(find_program("redis-cli"))
        .arg("-s")
        .arg(redis.socket())
        .args(["INFO", "memory"])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    Ok(line.ok_or("no used_memory")?.trim().parse()?)
}
