//! The server that everybody asks: a tool for each thing that a client can spoil.

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::sleep;
use turnbuckle::auth::ResourceServer;
use turnbuckle::http::HttpServerOptions;
use turnbuckle::prelude::*;
use turnbuckle::session::handler::Limits;
use turnbuckle::stdio::StdioOptions;
use turnbuckle::{BuildError, Server};

use crate::problem::{Problem, to_problem};

/// The resource that is subscribed to.
pub(crate) const WATCHED: &str = "soak://watched";

/// Bytes of a message that are taken over HTTP.
pub(crate) const MAX_BODY: usize = 1 << 20;

/// The time that a client may take to send the head of a request.
pub(crate) const HEADER_TIME: Duration = Duration::from_secs(5);

/// The time that a client may take to send the body of a request.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(3);

/// By when everything is over that nobody takes care of: the longest of the times below, and the
/// rest between two looks at the tables.
pub(crate) const OVER: Duration = Duration::from_secs(10);

/// Returns the times of an endpoint, made short: nothing is waited for that is over.
pub(crate) fn config() -> HttpServerOptions {
    let mut limits = Limits::default();
    limits.cancel_timeout = Duration::from_millis(200);
    limits.request_timeout = Duration::from_secs(7);
    limits.handler_timeout = Duration::from_secs(8);
    HttpServerOptions::new()
        .http_sse(true)
        .max_message_bytes(MAX_BODY)
        .json_wait(Duration::from_millis(200))
        .keep_alive_interval(Duration::from_millis(500))
        .handshake_timeout(Duration::from_secs(6))
        .session_idle_timeout(Duration::from_secs(6))
        .replay_ttl(Duration::from_secs(1))
        .header_timeout(HEADER_TIME)
        .body_timeout(BODY_TIME)
        .limits(limits)
}

/// Sessions, HTTP+SSE connections, listening streams and connections of a server that is attacked: few, so
/// that few attackers fill its tables.
pub(crate) const ATTACKED_SESSIONS: usize = 2000;
const ATTACKED_SSE_CONNECTIONS: usize = 200;
const ATTACKED_LISTENING_STREAMS: usize = 400;
const ATTACKED_CONNECTIONS: usize = 1000;

/// The time for which a client may read nothing of what an attacked server sends.
const ATTACKED_WRITE_TIME: Duration = Duration::from_secs(5);

/// Returns the settings of a server that is attacked: the default bounds of memory, few entries, and short
/// times.
pub(crate) fn attacked_config() -> HttpServerOptions {
    config()
        .max_message_bytes(HttpServerOptions::new().max_message_bytes)
        .write_timeout(ATTACKED_WRITE_TIME)
        .max_sessions(ATTACKED_SESSIONS)
        .max_sse_connections(ATTACKED_SSE_CONNECTIONS)
        .max_listening_streams(ATTACKED_LISTENING_STREAMS)
        .max_connections(ATTACKED_CONNECTIONS)
}

/// Returns the settings of a server on pipes that is attacked.
pub(crate) fn attacked_pipe_config() -> StdioOptions {
    let options = StdioOptions::new().write_timeout(ATTACKED_WRITE_TIME);
    options.limits(config().limits)
}

/// Principals beside the honest one, each with a token of its own.
pub(crate) const PRINCIPALS: usize = 400;

/// Returns the token of an attacker with that number, of all attackers together if there is none.
pub(crate) fn attacker_token(number: Option<usize>) -> String {
    let name = number.map_or_else(
        || "all".to_owned(),
        |number| (number % PRINCIPALS).to_string(),
    );
    format!("token-of-attackers-{name}")
}

/// The token of the honest client.
pub(crate) const HONEST_TOKEN: &str = "token-of-the-honest-client";

/// Returns the check of these tokens.
pub(crate) fn tokens() -> Result<ResourceServer, Problem> {
    let mut builder = ResourceServer::builder("http://localhost/mcp");
    builder = builder.static_token("honest", HONEST_TOKEN, [""; 0]);
    for number in std::iter::once(None).chain((0..PRINCIPALS).map(Some)) {
        let token = attacker_token(number);
        builder = builder.static_token(token.clone(), token, [""; 0]);
    }
    builder.build().map_err(to_problem)
}

/// The sizes of the tables of its endpoints, if it has any.
pub(crate) type Tables = Box<dyn Fn() -> Vec<(&'static str, usize)> + Send + Sync>;

pub(crate) static TABLES: OnceLock<Tables> = OnceLock::new();

pub(crate) fn server() -> Result<Server, BuildError> {
    Server::new("soak", "1.0.0")
        .tools(tools![echo, slow, flood, big, form, touch, held])
        .resources(resources![watched, note])
        .prompts(prompts![greet])
        .build()
}

/// Text to echo.
#[data]
struct Echoed {
    message: String,
    number: u64,
}

/// Says it again
#[tool]
fn echo(message: String, number: u64) -> Echoed {
    Echoed { message, number }
}

/// Takes its time
#[tool]
async fn slow(ms: u64) -> String {
    sleep(Duration::from_millis(ms.min(60_000))).await;
    format!("{ms} ms")
}

/// Says very much on the way to its answer
#[tool]
async fn flood(messages: u64, progress: Progress, log: Log) -> String {
    let text = "x".repeat(1000);
    for number in 0..messages {
        log.info(text.as_str()).await;
        progress.report(number).await;
    }
    format!("{messages} messages")
}

/// Returns a large answer
#[tool]
fn big(bytes: usize) -> String {
    "b".repeat(bytes.min(4 * MAX_BODY))
}

#[data]
struct Name {
    name: String,
}

/// Asks who is there
#[tool]
async fn form(ask: Ask) -> Result<String> {
    let name = ask.form::<Name>("Who is there?").await?;
    Ok(name.name)
}

/// Tells everybody that the watched resource has changed
#[tool]
fn touch(context: HandlerContext) -> &'static str {
    context.server().notify_resource_updated(WATCHED);
    context.server().notify_tools_changed();
    "They were told."
}

#[resource("soak://watched")]
fn watched() -> &'static str {
    "watched"
}

#[resource("soak://note/{id}")]
fn note(id: String) -> String {
    format!("note {id}")
}

/// Greets
#[prompt]
fn greet(name: String) -> String {
    format!("Hello, {name}")
}

/// Returns what this process holds
#[tool]
fn held(context: HandlerContext) -> String {
    let mut counts = process();
    counts.insert("subscriptions", context.server().subscription_count());
    counts.extend(TABLES.get().map(|tables| tables()).into_iter().flatten());
    serde_json::to_string(&counts).unwrap_or_default()
}

/// Returns what any process of ours holds.
pub(crate) fn process() -> BTreeMap<&'static str, usize> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let word = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        word.unwrap_or_default()
    };
    let open: Vec<_> = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| fs::read_link(entry.path()).unwrap_or_default())
        .collect();
    let is_socket = |path: &&std::path::PathBuf| path.to_string_lossy().starts_with("socket:");
    BTreeMap::from([
        ("tasks", Handle::current().metrics().num_alive_tasks()),
        ("threads", number("Threads:")),
        ("files", open.len()),
        ("sockets", open.iter().filter(is_socket).count()),
        ("resident KiB", number("VmRSS:")),
    ])
}
