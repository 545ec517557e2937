//! Serving of the demo over HTTP or stdio.

use std::io::{self, IsTerminal as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use turnbuckle::auth::ResourceServer;
use turnbuckle::auth_testing::TestAuthorizationServer;
use turnbuckle::http::{HttpServer, HttpServerOptions, HttpTimeouts};
use turnbuckle::sqlite::SqliteStore;
use turnbuckle::stdio::{self, StdioOptions};
use turnbuckle::{Authorize as _, KeyRing, Server};

use super::banner::Banner;
use super::build_server;
use super::protected::{READ_SCOPE, WRITE_SCOPE};
use super::store::{open_store, parse_store};
use crate::error::CliError;
use turnbuckle_session::internal::ShutdownSignals;

/// The time that requests in progress get at a shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of `demo`.
#[derive(Args)]
pub(crate) struct Options {
    /// Serve on standard input and output instead of HTTP
    #[arg(long, conflicts_with_all = ["port", "path", "auth"])]
    stdio: bool,

    /// The port to listen on, at 127.0.0.1; 0 takes any that is free
    #[arg(long, default_value_t = 3000)]
    port: u16,

    /// The path of the endpoint
    #[arg(long, default_value = "/mcp", value_parser = parse_path)]
    path: String,

    /// Take the secret keys from an environment variable, to share them with other instances
    #[arg(long, value_name = "VAR")]
    keys_env: Option<String>,

    /// Keep state in a store that other instances share: sqlite:FILE
    #[arg(long, value_name = "STORE", requires = "keys_env", value_parser = parse_store)]
    store: Option<PathBuf>,

    /// Demand a login, and run a test authorization server for it
    #[arg(long)]
    auth: bool,

    /// The port of the test authorization server; 0 takes any that is free [default: --port plus 1]
    #[arg(long, value_name = "PORT", requires = "auth")]
    auth_port: Option<u16>,

    /// Grant every login at once, without a consent page
    #[arg(long, requires = "auth")]
    auto_approve: bool,
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
    let keys = options.keys_env.as_deref().map(KeyRing::from_env);
    let keys = keys.transpose();
    let keys = keys.map_err(|error| CliError::usage(error.to_string()))?;
    let store = options.store.as_deref().map(open_store).transpose()?;
    let server = build_server(options.auth, keys, store.clone())
        .map_err(|error| CliError::new(error.to_string()))?;
    if options.stdio {
        serve_stdio(server).await
    } else {
        serve_http(server, options, store).await
    }
}

/// Serves on standard input and output. A person at a terminal gets a message on standard error.
async fn serve_stdio(server: Server) -> Result<(), CliError> {
    if io::stderr().is_terminal() {
        let _ = writeln!(
            io::stderr(),
            "turnbuckle demo: one JSON message per line. Ctrl-C ends it."
        );
    }
    stdio::run(server, StdioOptions::new())
        .await
        .map_err(|error| CliError::new(format!("standard input and output: {error}")))
}

/// Serves HTTP. The first signal shuts down gracefully, the second at once.
async fn serve_http(
    server: Server,
    options: Options,
    store: Option<SqliteStore>,
) -> Result<(), CliError> {
    let http_options = HttpServerOptions::new()
        .timeouts(HttpTimeouts::new().shutdown_timeout(SHUTDOWN_TIMEOUT))
        // A token is for one resource, and the endpoint of HTTP+SSE would be another.
        .http_sse(!options.auth);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port)).to_string();
    let mut http = HttpServer::bind(server, &address, http_options)
        .await
        .map_err(|error| cannot_listen(options.port, &error))?
        .path(&*options.path);
    let mut authorization_server = None;
    if options.auth {
        let (protected, server) = protect(http, &options, store).await?;
        http = protected;
        authorization_server = Some(server);
    }
    let mut signals = ShutdownSignals::new()
        .map_err(|error| CliError::new(format!("cannot catch signals: {error}")))?;
    let (url, sse) = (http.url(), http.sse_url());
    let banner = Banner {
        url: &url,
        sse: sse.as_deref(),
        issuer: authorization_server.as_ref().map(|server| server.issuer()),
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

/// Lets only requests with a token through, and starts the server that issues tokens.
async fn protect(
    http: HttpServer,
    options: &Options,
    store: Option<SqliteStore>,
) -> Result<(HttpServer, TestAuthorizationServer), CliError> {
    let resource = http.url();
    let next_port = match options.port {
        0 => 0,
        port => port.checked_add(1).unwrap_or(0),
    };
    let builder = TestAuthorizationServer::builder()
        .resource(&*resource)
        .scopes([READ_SCOPE, WRITE_SCOPE])
        .auto_approve(options.auto_approve)
        .port(options.auth_port.unwrap_or(next_port));
    let server = builder.start().await.map_err(|error| {
        CliError::new(error.to_string()).hint("`--auth-port 0` takes any port that is free")
    })?;
    let mut auth = ResourceServer::builder(resource)
        .issuer(server.issuer())
        .required_scopes([READ_SCOPE])
        .resource_name("Turnbuckle demo");
    if let Some(store) = store {
        auth = auth.store(store);
    }
    let auth = auth
        .build()
        .map_err(|error| CliError::new(error.to_string()))?;
    Ok((http.auth(auth), server))
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
