//! The `gateway` command: many servers behind one endpoint.

mod check;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use turnbuckle::auth::OAuth;
use turnbuckle::http::HttpConnector;
use turnbuckle::servers::config::{ConfigFile, workspace_of};
use turnbuckle_gateway::{Gateway, GatewayBuilder, GatewayError, GatewayFile};

use crate::args::{OutputArgs, ServerArgs};
use crate::authorization::{StoredLoginOnly, UserStore};
use crate::connection::list_catalogue;
use crate::error::CliError;
use crate::observe::KnownSecrets;
use crate::serving::{
    TransportArgs, listen_with, open_store, parse_store, serve_http, serve_stdio,
};

/// Options of `gateway`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Option<GatewayCommand>,

    /// The file of the gateway (TOML or JSON), or an mcp.json [default: the servers of the mcp.json that is
    /// found, as far as you have agreed to them]
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Show clients three tools, which search, describe and call all others
    #[arg(long)]
    lazy: bool,

    #[command(flatten)]
    transport: TransportArgs,
}

/// A command about a gateway.
#[derive(Subcommand)]
enum GatewayCommand {
    /// Prints what each upstream would offer, and to whom, without listening
    Check(CheckOptions),
}

/// Options of `gateway check`.
#[derive(Args)]
struct CheckOptions {
    /// The file of the gateway (TOML or JSON), or an mcp.json [default: as for `gateway`]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

impl Options {
    /// Returns the options of the output, if the command prints a result.
    pub(crate) fn output_args(&self) -> Option<&OutputArgs> {
        match &self.command {
            Some(GatewayCommand::Check(options)) => Some(&options.output),
            None => None,
        }
    }
}

/// Serves until the client or the user ends it, or prints what would be served.
pub(crate) async fn run(options: Options) -> Result<(), CliError> {
    if let Some(GatewayCommand::Check(options)) = options.command {
        let builder = builder(options.file.as_deref()).await?.without_audit();
        let gateway = builder.connect().await.map_err(usage)?;
        let printed = check::print(&gateway, &options.output);
        gateway.close().await;
        return printed;
    }
    let mut builder = builder(options.file.as_deref()).await?.lazy(options.lazy);
    let transport = options.transport.or_listen(builder.file().listen.clone());
    if let Some(place) = &builder.file().store {
        let place = parse_store(place.expose());
        let place = place.map_err(|error| CliError::usage(format!("`store`: {error}")))?;
        builder = builder.store(open_store(&place).await?);
    }
    let gateway = builder.connect().await.map_err(usage)?;
    for offer in gateway.offers() {
        let _ = writeln!(io::stderr(), "{}", offer.status);
        for line in offer.unused_rules.iter().chain(&offer.left_out) {
            let _ = writeln!(io::stderr(), "{}: {line}", offer.status.server);
        }
    }
    let served = serve(&gateway, &transport).await;
    gateway.close().await;
    served
}

async fn serve(gateway: &Gateway, transport: &TransportArgs) -> Result<(), CliError> {
    let server = gateway.server().clone();
    if transport.stdio {
        return match gateway.has_auth() {
            true => Err(CliError::usage(
                "`auth` of the file is for HTTP: on standard input and output nobody has a token",
            )),
            false => serve_stdio(server, "gateway").await,
        };
    }
    // A token is for one resource, and the endpoint of HTTP+SSE would be another.
    let has_sse = !gateway.has_auth();
    let options = |options| gateway.http_options(options);
    let http = gateway.protect(listen_with(server, transport, has_sse, options).await?);
    let mut banner = format!("the gateway is at\n\n{url}\n", url = http.url());
    if io::stdout().is_terminal() {
        banner.push_str("\nCtrl-C ends it.\n");
    }
    serve_http(http, &banner).await
}

/// Returns the builder of the gateway that a file describes, or of the servers that are found.
async fn builder(file: Option<&Path>) -> Result<GatewayBuilder, CliError> {
    let store = UserStore::new(KnownSecrets::default());
    let builder = match file {
        Some(file) => read_file(file)?,
        None => {
            let mut builder = Gateway::builder(GatewayFile::default());
            for server in list_catalogue(&ServerArgs::default(), &store).await? {
                if server.consent.is_some_and(|consent| !consent.is_given) {
                    let _ = writeln!(
                        io::stderr(),
                        "{:?} is left out, since you have not agreed to it yet: use it once, or name \
                         its file with -f",
                        server.name
                    );
                    continue;
                }
                let mut config = ConfigFile::default();
                config.servers.insert(server.name, server.entry);
                builder = builder.config(config, workspace_of(&server.file));
            }
            builder
        }
    };
    Ok(builder.http_connectors(move |_, connector| with_stored_login(connector, &store)))
}

/// Reads the file of a gateway, or an `mcp.json`.
fn read_file(file: &Path) -> Result<GatewayBuilder, CliError> {
    let is_json = file.extension().is_some_and(|it| it == "json");
    if is_json && let Ok(config) = ConfigFile::read(file) {
        return Ok(Gateway::builder(GatewayFile::default()).config(config, workspace_of(file)));
    }
    let directory = file.parent().unwrap_or(Path::new("")).to_owned();
    let file = GatewayFile::read(file).map_err(usage)?;
    Ok(Gateway::builder(file).directory(directory))
}

/// Adds the credentials that `turnbuckle auth login` has stored for a URL.
fn with_stored_login(
    connector: HttpConnector,
    store: &UserStore,
) -> Result<HttpConnector, turnbuckle::auth::AuthError> {
    let Some(url) = connector.url() else {
        return Ok(connector);
    };
    let oauth = OAuth::builder(url, store.clone()).login_ui(StoredLoginOnly);
    Ok(connector.layer(oauth.build()?))
}

fn usage(error: GatewayError) -> CliError {
    CliError::usage(error.to_string())
}
