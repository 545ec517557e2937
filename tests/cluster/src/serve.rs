//! One instance: a server like any user's, whose effects can be counted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tokio::io::AsyncWriteExt as _;
use tokio::time::sleep;
use turnbuckle::http::{HttpServer, HttpServerOptions, HttpShares, HttpTimeouts};
use turnbuckle::prelude::*;
use turnbuckle::redis::RedisStore;
use turnbuckle::session::handler::{Limits, Rate};
use turnbuckle::types::SamplingMessageContentBlock;
use turnbuckle::{KeyRing, Tasks};

use crate::problem::Problem;

/// The time between two steps.
const STEP: Duration = Duration::from_millis(100);

/// The time that requests have to end when the instance is told to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The time in which the proxy sees that the instance takes no new requests.
const SHUTDOWN_DELAY: Duration = Duration::from_millis(600);

/// The time after which a call ends whose question nobody answers.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(12);

/// Options of an instance.
#[derive(Args)]
pub(crate) struct Options {
    /// The port to listen on
    #[arg(long)]
    port: u16,
    /// The URL of the store
    #[arg(long)]
    store: String,
    /// The file to which the effects are appended
    #[arg(long)]
    orders: PathBuf,
}

#[data]
struct Answer {
    answer: String,
}

struct Counted {
    orders: PathBuf,
}

#[server]
impl Counted {
    /// Says a text back
    #[tool(read_only)]
    fn echo(text: String) -> String {
        text
    }

    /// Asks the user
    #[tool]
    async fn ask(text: String, ask: Ask) -> Result<String> {
        let Answer { answer } = ask.form(text).await?;
        Ok(answer)
    }

    /// Asks the model
    #[tool]
    async fn sample(text: String, ask: Ask) -> Result<String> {
        let reply = ask.sample(text).max_tokens(10).await?;
        let texts = reply
            .content
            .iter()
            .filter_map(SamplingMessageContentBlock::as_text);
        Ok(texts.collect())
    }

    /// Reports progress, and says a text back
    #[tool]
    async fn steps(count: u32, text: String, progress: Progress) -> String {
        for step in 0..count {
            progress.report_with_total(step, count).await;
            sleep(STEP).await;
        }
        text
    }

    /// Closes the stream of the request, works on, and says a text back
    #[tool]
    async fn cut(text: String, context: HandlerContext) -> String {
        context.close_sse_stream();
        sleep(3 * STEP).await;
        text
    }

    /// Takes an order once, after the user has agreed
    #[tool]
    async fn order(&self, key: String, ask: Ask) -> Result<String> {
        let Answer { .. } = ask.form(format!("Order {key}?")).await?;
        let orders = self.orders.clone();
        let taken = ask
            .once("order", async move {
                append(&orders, &key).await?;
                Ok(key)
            })
            .await?;
        Ok(taken)
    }

    /// Notifies subscribers of a resource, those of other instances even if this one is killed next
    #[tool]
    async fn touch(uri: String, server: Server) -> &'static str {
        server.notify_resource_updated(&uri);
        // While the store fails, others are told later.
        let _ = server.flush_changes().await;
        "touched"
    }

    /// Works as a task, and says a text back
    #[tool(task)]
    async fn work(text: String) -> String {
        sleep(5 * STEP).await;
        text
    }

    /// Something to subscribe to
    #[resource("counted://{id}")]
    fn thing(id: String) -> String {
        id
    }
}

async fn append(path: &Path, line: &str) -> Result<()> {
    let mut options = tokio::fs::OpenOptions::new();
    let mut file = options.create(true).append(true).open(path).await?;
    file.write_all(format!("{line}\n").as_bytes()).await?;
    file.flush().await?;
    Ok(())
}

/// Serves until it is told to stop.
pub(crate) async fn run(options: Options) -> Result<(), Problem> {
    let server = Server::new("counted", "1.0.0")
        .store(RedisStore::connect(&options.store).await?)
        .keys(KeyRing::from_env("TURNBUCKLE_KEYS")?)
        .extension(Tasks::new())
        .group(Counted {
            orders: options.orders,
        })
        .build()?;
    let timeouts = HttpTimeouts::new()
        .shutdown_delay(SHUTDOWN_DELAY)
        .shutdown_timeout(SHUTDOWN_TIMEOUT);
    // All clients are at one address.
    let all = Rate::per_second(100_000);
    let shares = HttpShares::new()
        .max_address_percent(100)
        .address_handshake_rate(all);
    let http = HttpServerOptions::new()
        .shares(shares)
        .limits(
            Limits::new()
                .handshake_rate(all)
                .request_timeout(QUESTION_TIMEOUT),
        )
        .timeouts(timeouts)
        .health_routes(true)
        .http_sse(true);
    let http = HttpServer::bind(server, &format!("127.0.0.1:{}", options.port), http).await?;
    let shutdown = http.shutdown();
    let mut signal = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    println!("ready");
    tokio::spawn(async move {
        signal.recv().await;
        shutdown.close();
    });
    Ok(http.serve().await?)
}
