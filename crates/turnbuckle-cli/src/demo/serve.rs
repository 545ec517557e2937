//! Serving of the demo over HTTP or stdio.

use std::io::{self, IsTerminal as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use turnbuckle::Server;
use turnbuckle::http::{HttpServer, HttpServerOptions};
use turnbuckle::stdio::{self, StdioOptions};

use super::banner::Banner;
use super::build_server;
use crate::error::CliError;
use crate::signals::ShutdownSignals;

/// The time that requests in progress get at a shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of `demo`.
#[derive(Args)]
pub(crate) struct Options {
    /// Serve on standard input and output instead of HTTP
    #[arg(long, conflicts_with_all = ["port", "path"])]
    stdio: bool,

    /// The port to listen on, at 127.0.0.1; 0 takes any that is free
    #[arg(long, default_value_t = 3000)]
    port: u16,

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

/// Serves until the client or the user ends it.
pub(crate) async fn run(options: Options) -> Result<(), CliError> {
    let server = build_server().map_err(|error| CliError::new(error.to_string()))?;
    if options.stdio {
        serve_stdio(server).await
    } else {
        serve_http(server, options).await
    }
}

/// Serves on standard input and output. A person at a terminal gets a message on standard error.
async fn serve_stdio(server: Server) -> Result<(), CliError> {
    if io::stderr().is_terminal() {
        eprintln!("turnbuckle demo: one JSON message per line. Ctrl-C ends it.");
    }
    stdio::run(server, StdioOptions::new())
        .await
        .map_err(|error| CliError::new(format!("standard input and output: {error}")))
}

/// Serves HTTP. The first signal shuts down gracefully, the second at once.
async fn serve_http(server: Server, options: Options) -> Result<(), CliError> {
    let http_options = HttpServerOptions::new()
        .shutdown_timeout(SHUTDOWN_TIMEOUT)
        .http_sse(true);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port)).to_string();
    let http = HttpServer::bind(server, &address, http_options)
        .await
        .map_err(|error| cannot_listen(options.port, &error))?
        .path(options.path);
    let mut signals = ShutdownSignals::new()
        .map_err(|error| CliError::new(format!("cannot catch signals: {error}")))?;
    let (url, sse) = (http.url(), http.sse_url());
    let banner = Banner {
        url: &url,
        sse: sse.as_deref(),
    };
    io::stdout()
        .write_all(banner.to_string().as_bytes())
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
