//! The roles in which this program starts itself.

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use turnbuckle::http::{HttpServer, HttpServerOptions, TlsIdentity};
use turnbuckle::stdio::{self, Command, StdioOptions};
use turnbuckle::{Authorize, Client, Run};

use crate::hostile;
use crate::problem::{Problem, to_problem};
use crate::process::itself;
use crate::server::{TABLES, attacked_config, attacked_pipe_config, config, server, tokens};
use crate::volume::volume;

/// Calls that a client has under way at a time.
const AT_ONCE: u64 = 16;

/// Plays a role until whoever started it has enough:
///
/// - `http`: the server over HTTP, with short times. Its URLs are printed first; it ends when its
///   input does.
/// - `attacked`: the same with the default bounds of memory, for single attacks; `attacked-http2` with
///   HTTP/2, `attacked-tls` with TLS (the certificate is printed after the URLs), `attacked-tokens` with
///   a check of tokens, `attacked-pipe` on its input and output.
/// - `hostile`: a server on its input and output that floods its client; `attacked-list` and
///   `attacked-call`: the client that it floods.
/// - `stdio`: the server on its input and output.
/// - `run [--http ADDRESS]`: the server as a user's program is one.
/// - `client`: a client of `stdio`, which it starts, under load.
/// - `volume`: nothing but the sound sessions and requests of the long form.
pub(crate) fn play(role: &str) -> Result<(), Problem> {
    let runtime = runtime()?;
    match role {
        "http" => runtime.block_on(http(config(), "", |http| http)),
        "attacked" => runtime.block_on(http(attacked_config(), "", |http| http)),
        "attacked-http2" => runtime.block_on(http(attacked_config().http2(true), "", |http| http)),
        "attacked-tls" => {
            let (identity, certificate) = identity()?;
            runtime.block_on(http(
                attacked_config().tls(identity),
                &certificate,
                |http| http,
            ))
        }
        "attacked-tokens" => {
            let (options, tokens) = (attacked_config().max_address_percent(100), tokens()?);
            runtime.block_on(http(options, "", |http| http.auth(tokens)))
        }
        "attacked-list" => runtime.block_on(hostile::ask(false)),
        "attacked-call" => runtime.block_on(hostile::ask(true)),
        "hostile" => hostile::serve(),
        "attacked-pipe" => runtime.block_on(pipe(attacked_pipe_config())),
        "stdio" => runtime.block_on(pipe(StdioOptions::new().limits(config().limits))),
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

/// Returns a certificate of its own for 127.0.0.1, with its key, and the certificate in hexadecimal.
fn identity() -> Result<(TlsIdentity, String), Problem> {
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(to_problem)?;
    let key = made.signing_key.serialize_pem();
    let identity = TlsIdentity::from_pem(made.cert.pem().as_bytes(), key.as_bytes());
    let bytes = made.cert.der().iter();
    let certificate = bytes.map(|byte| format!("{byte:02x}")).collect();
    Ok((identity.map_err(to_problem)?, certificate))
}

async fn pipe(options: StdioOptions) -> Result<(), Problem> {
    grow_run_queue().await;
    let server = server().map_err(to_problem)?;
    stdio::run(server, options).await.map_err(to_problem)
}

/// Tasks that are ready at once in the warm-up of a server.
const READY_TASKS: usize = 10_000;

/// Gives the runtime a run queue for as many tasks as an attack makes ready at once. tokio never shrinks
/// that queue, and one that grows under attack keeps glibc from giving back the memory below it.
async fn grow_run_queue() {
    let mut tasks: JoinSet<()> = (0..READY_TASKS).map(|_| async {}).collect();
    while tasks.join_next().await.is_some() {}
}

/// Serves HTTP, with `certificate` printed after the URLs.
async fn http(
    options: HttpServerOptions,
    certificate: &str,
    protect: impl FnOnce(HttpServer) -> HttpServer,
) -> Result<(), Problem> {
    grow_run_queue().await;
    let server = server().map_err(to_problem)?;
    let http = HttpServer::bind(server, "127.0.0.1:0", options)
        .await
        .map_err(to_problem)?;
    let http = protect(http);
    let _ = TABLES.set(Box::new(http.table_sizes()));
    let sse = http.sse_url().unwrap_or_default();
    println!("{}", format!("{} {sse} {certificate}", http.url()).trim());
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
