//! The roles in which this program starts itself.

use std::io::{Read, Write};
use std::time::Duration;
use std::{env, thread};

use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use turnbuckle::http::{HttpServer, HttpServerOptions};
use turnbuckle::stdio::{self, Command, StdioOptions};
use turnbuckle::{Client, Run};

use crate::problem::{Problem, to_problem};
use crate::server::{TABLES, attacked_config, config, server};
use crate::volume::volume;

/// Calls that a client has under way at a time.
const AT_ONCE: u64 = 16;

/// Plays a role until whoever started it has enough:
///
/// - `http`: the server over HTTP, with short times. Its URLs are printed first; it ends when its
///   input does.
/// - `attacked`: the same with the allocator's and the server's own bounds, for single attacks.
/// - `stdio`: the server on its input and output.
/// - `run [--http ADDRESS]`: the server as a user's program is one.
/// - `client`: a client of `stdio`, which it starts, under load.
/// - `volume`: nothing but the sound sessions and requests of the long form.
pub(crate) fn play(role: &str) -> Result<(), Problem> {
    let runtime = runtime()?;
    match role {
        "http" => runtime.block_on(http(config())),
        "attacked" => runtime.block_on(http(attacked_config())),
        "stdio" => runtime.block_on(async {
            let server = server().map_err(to_problem)?;
            let served = stdio::run(server, StdioOptions::new().limits(config().limits)).await;
            served.map_err(to_problem)
        }),
        "run" => runtime.block_on(async {
            let served = server().map_err(to_problem)?.run().await;
            served.map_err(|failure| format!("{failure:?}"))
        }),
        "client" => runtime.block_on(client()),
        "volume" => runtime.block_on(volume()),
        other => Err(format!("no role {other}")),
    }
}

/// Returns a runtime of one thread, so that the counts are not the runtime's own.
pub(crate) fn runtime() -> Result<Runtime, Problem> {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().map_err(to_problem)
}

/// Returns the command of this program in another role.
pub(crate) fn itself() -> Result<std::path::PathBuf, Problem> {
    env::current_exe().map_err(to_problem)
}

async fn http(options: HttpServerOptions) -> Result<(), Problem> {
    let server = server().map_err(to_problem)?;
    let http = HttpServer::bind(server, "127.0.0.1:0", options)
        .await
        .map_err(to_problem)?;
    let _ = TABLES.set(Box::new(http.table_sizes()));
    let sse = http.sse_url().unwrap_or_default();
    println!("{} {sse}", http.url());
    std::io::stdout().flush().map_err(to_problem)?;
    let shutdown = http.shutdown();
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        shutdown.close();
    });
    http.serve().await.map_err(to_problem)
}

/// Calls the server that it starts for as long as it lives.
async fn client() -> Result<(), Problem> {
    let command = Command::new(itself()?).arg("stdio");
    let client = Client::builder("loaded", "1.0.0").connect(command).await;
    let client = client.map_err(to_problem)?;
    println!("connected");
    std::io::stdout().flush().map_err(to_problem)?;
    let mut calls = JoinSet::new();
    for number in 0..AT_ONCE {
        let client = client.clone();
        calls.spawn(async move {
            loop {
                let arguments = json!({"message": "m".repeat(1000), "number": number});
                client
                    .call_tool("echo", &arguments)
                    .send()
                    .await
                    .map_err(to_problem)?;
                tokio::time::sleep(Duration::from_micros(number)).await;
            }
        });
    }
    match calls.join_next().await {
        Some(ended) => ended.map_err(to_problem)?,
        None => Ok(()),
    }
}
