//! The `gateway` command: many servers behind one endpoint.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use turnbuckle::auth::OAuth;
use turnbuckle::http::HttpConnector;
use turnbuckle::servers::config::{ConfigFile, workspace_of};
use turnbuckle_gateway::{Gateway, GatewayBuilder, GatewayFile};

use crate::args::ServerArgs;
use crate::authorization::{StoredLoginOnly, UserStore};
use crate::connection::list_catalogue;
use crate::error::CliError;
use crate::observe::KnownSecrets;
use crate::serving::{TransportArgs, listen, serve_http, serve_stdio};

/// Options of `gateway`.
#[derive(Args)]
pub(crate) struct Options {
    /// The file of the gateway (TOML or JSON), or an mcp.json [default: the servers of the mcp.json that is
    /// found, as far as you have agreed to them]
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    transport: TransportArgs,
}

/// Serves until the client or the user ends it.
pub(crate) async fn run(options: Options) -> Result<(), CliError> {
    let builder = builder(options.file.as_deref()).await?;
    let gateway = builder.connect().await.map_err(usage)?;
    for status in gateway.servers().status() {
        let _ = writeln!(io::stderr(), "{status}");
    }
    let server = gateway.server().clone();
    if options.transport.stdio {
        return serve_stdio(server, "gateway").await;
    }
    let http = listen(server, &options.transport, true).await?;
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
        let workspace = workspace_of(file);
        return Ok(Gateway::builder(GatewayFile::default()).config(config, workspace));
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

fn usage(error: turnbuckle_gateway::GatewayError) -> CliError {
    CliError::usage(error.to_string())
}
