//! The `gateway` command: many servers behind one endpoint.

mod check;
mod settings;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    DEFAULT_PATH, TransportArgs, listen_with, open_store, parse_store, serve_http, serve_stdio,
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
        let path = options.file.as_deref();
        let builder = builder(path).await?.without_audit();
        let builder = builder.start_timeout(CHECK_TIMEOUT);
        let mut problems = settings::contradictions(builder.file(), DEFAULT_PATH);
        problems.extend(settings::unusable(builder.file(), directory_of(path)).await);
        let gateway = connect(builder, path).await?;
        let printed = check::print(&gateway, &options.output);
        gateway.close().await;
        return match problems.is_empty() {
            true => printed,
            false => Err(CliError::new(problems.join("\n"))),
        };
    }
    let path = options.file.as_deref();
    let mut builder = builder(path).await?.lazy(options.lazy);
    let problems = settings::contradictions(builder.file(), options.transport.path());
    if !problems.is_empty() && !options.transport.stdio {
        return Err(CliError::usage(problems.join("\n")));
    }
    let transport = options.transport.or_listen(builder.file().listen.clone());
    if !transport.stdio {
        // Errors reach users who share a command, and must not have what it writes for others.
        builder = builder.inherit_stderr();
    }
    if let Some(place) = &builder.file().store {
        let place = parse_store(place.expose());
        let place = place.map_err(|error| CliError::usage(format!("`store`: {error}")))?;
        builder = builder.store(open_store(&place.starting_at(directory_of(path))).await?);
    }
    let gateway = connect(builder, path).await?;
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

/// The time that upstreams get to connect for `gateway check`.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects the upstreams. Errors name the file.
async fn connect(builder: GatewayBuilder, file: Option<&Path>) -> Result<Gateway, CliError> {
    builder.connect().await.map_err(|error| match file {
        Some(file) => CliError::usage(format!("{}: {error}", file.display())),
        None => usage(error),
    })
}

/// Returns the directory at which the relative paths of a file start.
fn directory_of(file: Option<&Path>) -> &Path {
    file.and_then(Path::parent).unwrap_or(Path::new(""))
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
            let mut is_empty = true;
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
                is_empty = false;
            }
            if is_empty {
                let reason = "there is no server to serve in a .mcp.json, mcp.json or .vscode/mcp.json of this \
                              directory or one above it";
                return Err(CliError::usage(reason).hint("name a file with `-f FILE`"));
            }
            builder
        }
    };
    Ok(builder.http_connectors(move |_, connector| with_stored_login(connector, &store)))
}

/// The errors of a file whose servers are under a key of an `mcp.json`.
const MCP_JSON_KEYS: [&str; 2] = ["unknown key \"mcpServers\"", "unknown key \"servers\""];

/// Reads the file of a gateway, or an `mcp.json`.
fn read_file(file: &Path) -> Result<GatewayBuilder, CliError> {
    let is_json = file.extension().is_some_and(|it| it == "json");
    let directory = directory_of(Some(file)).to_owned();
    let fault = match is_json.then(|| ConfigFile::read(file)) {
        Some(Ok(config)) => {
            return Ok(Gateway::builder(GatewayFile::default()).config(config, workspace_of(file)));
        }
        Some(Err(fault)) => Some(fault),
        None => None,
    };
    let file = GatewayFile::read(file).map_err(|error| match fault {
        // The keys of an mcp.json, which has another fault.
        Some(fault)
            if MCP_JSON_KEYS
                .iter()
                .any(|key| error.to_string().contains(key)) =>
        {
            CliError::usage(fault.to_string())
        }
        _ => usage(error),
    })?;
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
