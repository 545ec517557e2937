//! Measures what stored sessions cost, and what a question costs whose answer comes to another instance.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;
use turnbuckle_engines::{RedisServer, find_program};

use crate::instance::Instances;
use crate::problem::Problem;

/// The revision of the sessions.
const REVISION: &str = "2025-11-25";

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
            let mut events = Events::new(asking.post(Some(&session), &call).await?);
            let question = events.next().await?;
            let answer = json!({
                "jsonrpc": "2.0", "id": question["id"],
                "result": { "action": "accept", "content": { "answer": "!" } },
            });
            let began = Instant::now();
            let accepted = answering.post(Some(&session), &answer).await?;
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

/// A connection to an instance.
struct Connection {
    place: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    async fn open(place: SocketAddr) -> Result<Self, Problem> {
        let stream = TcpStream::connect(place).await?;
        stream.set_nodelay(true)?;
        let io = TokioIo::new(stream);
        let (sender, connection) = hyper::client::conn::http1::handshake(io).await?;
        tokio::spawn(connection);
        Ok(Self { place, sender })
    }

    async fn post(
        &mut self,
        session: Option<&str>,
        message: &Value,
    ) -> Result<Response<Incoming>, Problem> {
        let mut request = Request::post("/mcp")
            .header("host", self.place.to_string())
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(session) = session {
            request = request
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", REVISION);
        }
        let body = Full::new(Bytes::from(message.to_string()));
        self.sender.ready().await?;
        Ok(self.sender.send_request(request.body(body)?).await?)
    }

    /// Opens a session, and returns its id.
    async fn open_session(&mut self) -> Result<String, Problem> {
        let initialize = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": REVISION, "capabilities": { "elicitation": {} },
                "clientInfo": { "name": "measure", "version": "1.0.0" },
            },
        });
        let opened = self.post(None, &initialize).await?;
        let session = opened.headers().get("mcp-session-id");
        let session = session.ok_or_else(|| format!("no session: {}", opened.status()))?;
        let session = session.to_str()?.to_owned();
        opened.into_body().collect().await?;
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let done = self.post(Some(&session), &initialized).await?;
        done.into_body().collect().await?;
        Ok(session)
    }
}

/// The messages of an SSE stream.
struct Events {
    body: Incoming,
    text: String,
}

impl Events {
    fn new(response: Response<Incoming>) -> Self {
        Self {
            body: response.into_body(),
            text: String::new(),
        }
    }

    async fn next(&mut self) -> Result<Value, Problem> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let message = data
                    .filter(|data| !data.trim().is_empty())
                    .map(serde_json::from_str)
                    .transpose()?;
                self.text = rest.to_owned();
                if let Some(message) = message {
                    return Ok(message);
                }
                continue;
            }
            let limit = Duration::from_secs(10);
            let frame = tokio::time::timeout(limit, self.body.frame()).await?;
            let frame = frame.ok_or("the stream has ended")??;
            if let Ok(data) = frame.into_data() {
                self.text.push_str(std::str::from_utf8(&data)?);
            }
        }
    }
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
