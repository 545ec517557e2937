//! Serving of a server over HTTP or on standard streams, until the client or the user ends it.

mod store;

use std::io::{self, IsTerminal as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use turnbuckle::auth::ResourceServer;
use turnbuckle::http::{HttpServer, HttpServerOptions, HttpTimeouts};
use turnbuckle::stdio::{self, StdioOptions};
use turnbuckle::{Authorize as _, Server};

use crate::args::parse_time;
use crate::error::CliError;
pub(crate) use store::{StorePlace, open_store, parse_store};
use turnbuckle_session::internal::ShutdownSignals;

/// The time that requests in progress get at a shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Options that select the transport.
#[derive(Args)]
#[command(next_help_heading = "Serving")]
pub(crate) struct TransportArgs {
    /// Serve on standard input and output instead of HTTP
    #[arg(long, conflicts_with_all = ["listen", "port", "path", "allowed_hosts", "shutdown_delay"])]
    pub(crate) stdio: bool,

    /// The address to listen on: HOST:PORT, or unix:PATH for a Unix socket
    #[arg(long, value_name = "ADDRESS", conflicts_with = "port")]
    listen: Option<String>,

    /// The port to listen on, at 127.0.0.1; 0 takes any that is free [default: 3000]
    #[arg(long)]
    port: Option<u16>,

    /// The path of the endpoint
    #[arg(long, default_value = DEFAULT_PATH, value_parser = parse_path)]
    path: String,

    /// A name under which clients reach the server, for an address that other machines reach; may be
    /// repeated
    #[arg(long = "allow-host", value_name = "HOST")]
    allowed_hosts: Vec<String>,

    /// Go on to serve for this time after a signal, while `/readyz` already fails, so that a load balancer
    /// sends no more clients here
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    shutdown_delay: Option<Duration>,
}

/// The path of the endpoint if no other is given.
pub(crate) const DEFAULT_PATH: &str = "/mcp";

/// The port if no address is given.
const DEFAULT_PORT: u16 = 3000;

impl TransportArgs {
    /// Sets the address to listen on, unless an option does.
    pub(crate) fn or_listen(mut self, address: Option<String>) -> Self {
        if self.listen.is_none() && self.port.is_none() {
            self.listen = address;
        }
        self
    }

    /// Returns the port to listen on, at 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap_or(DEFAULT_PORT)
    }

    /// Returns the path of the endpoint.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the address to listen on.
    fn address(&self) -> String {
        let of_port = || SocketAddr::from((Ipv4Addr::LOCALHOST, self.port())).to_string();
        self.listen.clone().unwrap_or_else(of_port)
    }
}

/// Options that select the transport, and who may use the server.
#[derive(Args)]
#[command(next_help_heading = "Serving")]
pub(crate) struct ServingArgs {
    #[command(flatten)]
    pub(crate) transport: TransportArgs,

    /// Let only requests with a token of this authorization server through
    #[arg(long = "auth", value_name = "ISSUER", conflicts_with = "stdio")]
    issuer: Option<String>,

    /// The URL of the server, which tokens are for [default: the URL that it listens at]
    #[arg(long, value_name = "URL", requires = "issuer")]
    resource: Option<String>,

    /// A scope that every token needs; may be repeated
    #[arg(long = "scope", value_name = "SCOPE", requires = "issuer")]
    scopes: Vec<String>,
}

impl ServingArgs {
    /// Returns whether requests need a token.
    pub(crate) fn has_auth(&self) -> bool {
        self.issuer.is_some()
    }

    /// Returns the check of tokens for a server at `url`, if requests need one.
    fn resource_server(&self, url: String) -> Result<Option<ResourceServer>, CliError> {
        let Some(issuer) = &self.issuer else {
            return Ok(None);
        };
        let resource = self.resource.clone().unwrap_or(url);
        let built = ResourceServer::builder(resource)
            .issuer(issuer)
            .required_scopes(self.scopes.iter().cloned())
            .build();
        built
            .map(Some)
            .map_err(|error| CliError::usage(error.to_string()))
    }
}

/// Serves until the client or the user ends it. `command` names the command, and `what` what is served.
pub(crate) async fn serve(
    server: Server,
    args: &ServingArgs,
    command: &str,
    what: &str,
) -> Result<(), CliError> {
    serve_with(server, args, command, what, |http| http).await
}

/// Serves as [`serve`] does, with a change of the HTTP server, behind the check of tokens.
pub(crate) async fn serve_with(
    server: Server,
    args: &ServingArgs,
    command: &str,
    what: &str,
    configure: impl FnOnce(HttpServer) -> HttpServer,
) -> Result<(), CliError> {
    if args.transport.stdio {
        return serve_stdio(server, command).await;
    }
    // A token is for one resource, and the endpoint of HTTP+SSE would be another.
    let http = listen(server, &args.transport, !args.has_auth()).await?;
    let mut http = configure(http);
    if let Some(auth) = args.resource_server(http.url())? {
        http = http.auth(auth);
    }
    let mut banner = format!("{what} at\n\n{url}\n", url = http.url());
    if io::stdout().is_terminal() {
        banner.push_str("\nCtrl-C ends it.\n");
    }
    serve_http(http, &banner).await
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
    // Most of what is served here waits: for servers behind it, files, databases.
    stdio::run_on_runtime(server, StdioOptions::new())
        .await
        .map_err(|error| CliError::new(format!("standard input and output: {error}")))
}

/// Listens on HTTP, and for HTTP+SSE too if `http_sse`.
pub(crate) async fn listen(
    server: Server,
    args: &TransportArgs,
    http_sse: bool,
) -> Result<HttpServer, CliError> {
    listen_with(server, args, http_sse, |options| options).await
}

/// Listens as [`listen`] does, with a change of the options that the command line does not set.
pub(crate) async fn listen_with(
    server: Server,
    args: &TransportArgs,
    http_sse: bool,
    configure: impl FnOnce(HttpServerOptions) -> HttpServerOptions,
) -> Result<HttpServer, CliError> {
    let http_options = HttpServerOptions::new()
        .timeouts(
            HttpTimeouts::new()
                .shutdown_timeout(SHUTDOWN_TIMEOUT)
                .shutdown_delay(args.shutdown_delay.unwrap_or_default()),
        )
        .health_routes(true)
        .http_sse(http_sse);
    let mut http_options = configure(http_options);
    if !args.allowed_hosts.is_empty() {
        http_options = http_options.allowed_hosts(args.allowed_hosts.iter().cloned());
    }
    let address = args.address();
    let http = HttpServer::bind(server, &address, http_options).await;
    Ok(http
        .map_err(|error| cannot_listen(&address, &error))?
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

fn cannot_listen(address: &str, error: &io::Error) -> CliError {
    let text = error.to_string();
    let text = text.replace("HttpServerOptions::allowed_hosts", "`--allow-host`");
    let failure = CliError::new(format!("cannot listen on {address}: {text}"));
    match error.kind() {
        io::ErrorKind::AddrInUse if address.starts_with("unix:") => {
            failure.hint("another server has the socket: end it, or take another path")
        }
        io::ErrorKind::AddrInUse => failure.hint("`--port 0` takes any port that is free"),
        io::ErrorKind::PermissionDenied => {
            failure.hint("low ports need privileges: try `--port 3000`")
        }
        _ => failure,
    }
}
