//! Serves the demo, over HTTP or over the process's own standard streams.

use std::io::{self, IsTerminal as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use turnbuckle::Server;
use turnbuckle::http::{Config, HttpServer};
use turnbuckle::stdio::{self, StdioOptions};

use super::banner::Banner;
use super::everything;
use crate::ending::Endings;
use crate::failure::Failure;

/// How long the end waits for what is under way.
const PATIENCE: Duration = Duration::from_secs(2);

/// How to serve the demo.
#[derive(Args)]
pub(crate) struct Options {
    /// Serve on standard input and output instead of HTTP
    #[arg(long, conflicts_with_all = ["port", "path"])]
    stdio: bool,

    /// The port to listen on, at 127.0.0.1; 0 takes any that is free
    #[arg(long, default_value_t = 3000)]
    port: u16,

    /// The path of the endpoint
    #[arg(long, default_value = "/mcp", value_parser = path)]
    path: String,
}

/// A path that can stand in a URL as it is.
fn path(text: &str) -> Result<String, &'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    if text.starts_with('/') && text.bytes().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("it begins with a slash and holds letters, digits, '/', '-', '.', '_' and '~' only")
    }
}

/// Serves until the client or the user ends it.
pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let server = everything().map_err(|error| Failure::new(error.to_string()))?;
    if options.stdio {
        over_stdio(server).await
    } else {
        over_http(server, options).await
    }
}

/// Standard output belongs to the protocol; a person at a terminal is told elsewhere.
async fn over_stdio(server: Server) -> Result<(), Failure> {
    if io::stderr().is_terminal() {
        eprintln!("turnbuckle demo: one JSON message per line. Ctrl-C ends it.");
    }
    stdio::run(server, StdioOptions::new())
        .await
        .map_err(|error| Failure::new(format!("standard input and output: {error}")))
}

/// The first signal ends it once what is under way is done, the second at once.
async fn over_http(server: Server, options: Options) -> Result<(), Failure> {
    let config = Config::new().shutdown_time(PATIENCE).http_sse(true);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port)).to_string();
    let http = HttpServer::bind(server, &address, config)
        .await
        .map_err(|error| cannot_listen(options.port, &error))?
        .path(options.path);
    let mut endings =
        Endings::new().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let (url, sse) = (http.url(), http.sse_url());
    let banner = Banner {
        url: &url,
        sse: sse.as_deref(),
    };
    io::stdout()
        .write_all(banner.to_string().as_bytes())
        .map_err(|error| Failure::new(format!("cannot say where it listens: {error}")))?;

    let shutdown = http.shutdown();
    let mut serving = pin!(http.serve());
    let served = tokio::select! {
        served = serving.as_mut() => served,
        () = endings.next() => {
            shutdown.close();
            tokio::select! {
                served = serving.as_mut() => served,
                () = endings.next() => Ok(()),
            }
        }
    };
    served.map_err(|error| Failure::new(format!("cannot go on at {url}: {error}")))
}

fn cannot_listen(port: u16, error: &io::Error) -> Failure {
    let failure = Failure::new(format!("cannot listen on 127.0.0.1:{port}: {error}"));
    match error.kind() {
        io::ErrorKind::AddrInUse => failure.hint("`--port 0` takes any port that is free"),
        io::ErrorKind::PermissionDenied => {
            failure.hint("the system keeps low ports for itself: try `--port 3000`")
        }
        _ => failure,
    }
}
