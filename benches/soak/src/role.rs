//! The roles in which this program starts itself.

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use turnbuckle::http::{HttpServer, HttpServerOptions, HttpShares, TlsIdentity};
use turnbuckle::stdio::{self, Command, StdioOptions};
use turnbuckle::{Authorize, Client, Run};

use crate::hostile;
use crate::problem::Result;
use crate::process::itself;
use crate::server::{TABLES, http_options, server, stdio_options, tokens};

/// Calls that a client has under way at a time.
const CALLS: u64 = 16;

/// Plays a role until the input ends:
///
/// - `plain`, `http2`, `tls`, `http2-tls`, `tokens`: the server over HTTP. Its URL is printed first, with TLS followed
///   by the certificate in hexadecimal.
/// - `pipe`: the server on its input and output.
/// - `run [--http ADDRESS]`: the server as a program of a user.
/// - `client`: a client under load, of a server that it starts.
/// - `hostile`: a server that floods its client; `flooded-list` and `flooded-call`: that client.
pub(crate) fn play(role: &str) -> Result {
    let runtime = runtime()?;
    let options = http_options();
    match role {
        "plain" => runtime.block_on(http(options, "", |http| http)),
        "http2" => runtime.block_on(http(options.http2(true), "", |http| http)),
        "tls" | "http2-tls" => {
            let (identity, certificate) = identity()?;
            let options = options.tls(identity).http2(role == "http2-tls");
            runtime.block_on(http(options, &certificate, |http| http))
        }
        "tokens" => {
            let tokens = tokens()?;
            let options = options.shares(HttpShares::new().max_address_percent(100));
            runtime.block_on(http(options, "", |http| http.auth(tokens)))
        }
        "pipe" => runtime.block_on(pipe(stdio_options())),
        "run" => runtime.block_on(async { Ok(server()?.run().await?) }),
        "client" => runtime.block_on(client()),
        "hostile" => hostile::serve(),
        "flooded-list" => runtime.block_on(hostile::ask(false)),
        "flooded-call" => runtime.block_on(hostile::ask(true)),
        other => Err(format!("no role {other}").into()),
    }
}

/// Returns a runtime of one thread, so that the counts are not the runtime's own.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// Returns a certificate for 127.0.0.1 with its key, and the certificate in hexadecimal.
fn identity() -> Result<(TlsIdentity, String)> {
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names)?;
    let key = made.signing_key.serialize_pem();
    let identity = TlsIdentity::from_pem(made.cert.pem().as_bytes(), key.as_bytes())?;
    let bytes = made.cert.der().iter();
    Ok((identity, bytes.map(|byte| format!("{byte:02x}")).collect()))
}

/// Tasks that are ready at once in the warm-up of a server.
const READY_TASKS: usize = 10_000;

/// Gives the runtime a run queue for as many tasks as an attack makes ready at once. tokio never shrinks
/// that queue, and one that grows under attack keeps glibc from giving back the memory below it.
async fn grow_run_queue() {
    let mut tasks: JoinSet<()> = (0..READY_TASKS).map(|_| async {}).collect();
    while tasks.join_next().await.is_some() {}
}

async fn pipe(options: StdioOptions) -> Result {
    grow_run_queue().await;
    Ok(stdio::run(server()?, options).await?)
}

async fn http(
    options: HttpServerOptions,
    certificate: &str,
    protect: impl FnOnce(HttpServer) -> HttpServer,
) -> Result {
    grow_run_queue().await;
    let http = protect(HttpServer::bind(server()?, "127.0.0.1:0", options).await?);
    let _ = TABLES.set(Box::new(http.table_sizes()));
    print_line(format!("{} {certificate}", http.url()).trim())?;
    let shutdown = http.shutdown();
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        shutdown.close();
    });
    Ok(http.serve().await?)
}

/// Prints a line at once.
pub(crate) fn print_line(line: &str) -> Result {
    println!("{line}");
    Ok(std::io::stdout().flush()?)
}

/// Calls the server that it starts, for as long as it lives.
async fn client() -> Result {
    let command = Command::new(itself()?).arg("run");
    let client = Client::builder("loaded", "1.0.0").connect(command).await?;
    print_line("connected")?;
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let client = client.clone();
        calls.spawn(async move {
            loop {
                let arguments = json!({"message": "m".repeat(1000), "number": number});
                client.call_tool("echo", &arguments).await?;
                tokio::time::sleep(Duration::from_micros(number)).await;
            }
        });
    }
    calls.join_next().await.ok_or("no call")??
}
