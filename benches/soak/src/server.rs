//! The server that is attacked: a tool for each way in which a client can misuse one.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::sleep;
use turnbuckle::auth::ResourceServer;
use turnbuckle::http::{HttpLimits, HttpServerOptions, HttpTimeouts, ReplayLimits};
use turnbuckle::prelude::*;
use turnbuckle::session::handler::Limits;
use turnbuckle::stdio::StdioOptions;
use turnbuckle::{BuildError, Server};

/// The resource that is subscribed to.
pub(crate) const WATCHED: &str = "soak://watched";

/// Returns the settings of the server over HTTP: the default bounds of memory, short times, and few entries
/// in the tables, so that few attackers fill them.
pub(crate) fn http_options() -> HttpServerOptions {
    HttpServerOptions::new()
        .http_sse(true)
        .timeouts(
            HttpTimeouts::new()
                .json_wait(Duration::from_millis(200))
                .keep_alive_interval(Duration::from_millis(500))
                .handshake_timeout(Duration::from_secs(6))
                .session_idle_timeout(Duration::from_secs(6))
                .header_timeout(Duration::from_secs(5))
                .body_timeout(Duration::from_secs(3))
                .write_timeout(WRITE_TIMEOUT),
        )
        .replay(ReplayLimits::new().stream_ttl(Duration::from_secs(1)))
        .http_limits(
            HttpLimits::new()
                .max_sessions(2000)
                .max_sse_connections(200)
                .max_listening_streams(400)
                .max_connections(1000),
        )
        .limits(limits())
}

/// Returns the settings of the server on a pipe.
pub(crate) fn stdio_options() -> StdioOptions {
    let options = StdioOptions::new().write_timeout(WRITE_TIMEOUT);
    options.limits(limits())
}

/// The time for which a client may read nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.cancel_timeout = Duration::from_millis(200);
    limits.request_timeout = Duration::from_secs(7);
    limits.handler_timeout = Duration::from_secs(8);
    limits
}

/// Principals beside the honest one, each with a token of its own.
const PRINCIPALS: usize = 400;

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
pub(crate) fn tokens() -> crate::problem::Result<ResourceServer> {
    let mut builder = ResourceServer::builder("http://localhost/mcp");
    builder = builder.static_token("honest", HONEST_TOKEN, [""; 0]);
    for number in std::iter::once(None).chain((0..PRINCIPALS).map(Some)) {
        let token = attacker_token(number);
        builder = builder.static_token(token.clone(), token, [""; 0]);
    }
    Ok(builder.build()?)
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
    "b".repeat(bytes.min(4 << 20))
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
fn touch(server: Server) -> &'static str {
    server.notify_resource_updated(WATCHED);
    server.notify_tools_changed();
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

/// Returns the tasks and the entries of tables that this process has
#[tool]
fn held(server: Server) -> String {
    let tasks = Handle::current().metrics().num_alive_tasks();
    let subscriptions = server.subscription_count();
    let mut counts = BTreeMap::from([("tasks", tasks), ("subscriptions", subscriptions)]);
    counts.extend(TABLES.get().map(|tables| tables()).into_iter().flatten());
    serde_json::to_string(&counts).unwrap_or_default()
}
