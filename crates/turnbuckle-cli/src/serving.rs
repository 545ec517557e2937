//! Serving of a server over HTTP or on standard streams, until the client or the user ends it.

use std::io::{self, IsTerminal as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use turnbuckle::Server;
use turnbuckle::http::{HttpServer, HttpServerOptions, HttpTimeouts};
use turnbuckle::stdio::{self, StdioOptions};

use crate::error::CliError;
use turnbuckle_session::internal::ShutdownSignals;

/// The time that requests in progress get at a shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Options that select the transport.
#[derive(Args)]
pub(crate) struct TransportArgs {
    /// Serve on standard input and output instead of HTTP
    #[arg(long, conflicts_with_all = ["port", "path"])]
    pub(crate) stdio: bool,

    /// The port to listen on, at 127.0.0.1; 0 takes any that is free
    #[arg(long, default_value_t = 3000)]
    pub(crate) port: u16,

    /// The path of the endpoint
    #[arg(long, default_value = "/mcp", value_parser = parse_path)]
    path: String,
}

/// Parses a URL path that needs no escaping.
fn parse_path(text: &str) -> Result<String, &'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    if text.starts_with('/') && text.bytes().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("a path begins with '/' and contains only letters, digits, '/', '-', '.', '_' and '~'")
    }
}

/// Serves on standard input and output. A person at a terminal gets a message on standard error.
pub(crate) async fn serve_stdio(server: Server, command: &str) -> Result<(), CliError> {
    if io::stderr().is_terminal() {
        let _ = writeln!(
            io::stderr(),
            "turnbuckle {command}: one JSON message per line. Ctrl-C ends it."
        );
    }
    stdio::run(server, StdioOptions::new())
        .await
        .map_err(|error| CliError::new(format!("standard input and output: {error}")))
}

/// Listens on HTTP, and for HTTP+SSE too if `http_sse`.
pub(crate) async fn listen(
    server: Server,
    args: &TransportArgs,
    http_sse: bool,
) -> Result<HttpServer, CliError> {
    let http_options = HttpServerOptions::new()
        .timeouts(HttpTimeouts::new().shutdown_timeout(SHUTDOWN_TIMEOUT))
        .http_sse(http_sse);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port)).to_string();
    let http = HttpServer::bind(server, &address, http_options).await;
    Ok(http
        .map_err(|error| cannot_listen(args.port, &error))?
        .path(&*args.path))
}

/// Prints a banner and serves HTTP. The first signal shuts down gracefully, the second at once.
pub(crate) async fn serve_http(http: HttpServer, banner: &str) -> Result<(), CliError> {
    let mut signals = ShutdownSignals::new()
        .map_err(|error| CliError::new(format!("cannot catch signals: {error}")))?;
    let url = http.url();
    io::stdout()
        .write_all(banner.as_bytes())
        .map_err(|error| CliError::new(format!("cannot print the address: {error}")))?;

    let shutdown = http.shutdown();
    let mut serving = pin!(http.serve());
    let served = tokio::select! {
        served = serving.as_mut() => served,
        () = signals.recv() => {
            shutdown.close();
            tokio::select! {
                served = serving.as_mut() => served,
                () = signals.recv() => Ok(()),
            }
        }
    };
    served.map_err(|error| CliError::new(format!("the server at {url} stopped: {error}")))
}

fn cannot_listen(port: u16, error: &io::Error) -> CliError {
    let failure = CliError::new(format!("cannot listen on 127.0.0.1:{port}: {error}"));
    match error.kind() {
        io::ErrorKind::AddrInUse => failure.hint("`--port 0` takes any port that is free"),
        io::ErrorKind::PermissionDenied => {
            failure.hint("low ports need privileges: try `--port 3000`")
        }
        _ => failure,
    }
}
