//! Serving of the demo over HTTP or stdio.

use std::sync::Arc;

use clap::Args;
use turnbuckle::auth::ResourceServer;
use turnbuckle::auth_testing::TestAuthorizationServer;
use turnbuckle::http::HttpServer;
use turnbuckle::store::Store;
use turnbuckle::{Authorize as _, KeyRing};

use super::banner::Banner;
use super::build_server;
use super::protected::{READ_SCOPE, WRITE_SCOPE};
use crate::error::CliError;
use crate::serving::{
    StorePlace, TransportArgs, listen, open_store, parse_store, serve_http, serve_stdio,
};

/// Options of `demo`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    transport: TransportArgs,

    /// Take the secret keys from an environment variable, to share them with other instances
    #[arg(long, value_name = "VAR")]
    keys_env: Option<String>,

    /// Keep state in a store that other instances share: sqlite:FILE, redis://… or postgres://…
    #[arg(long, value_name = "STORE", requires = "keys_env", value_parser = parse_store)]
    store: Option<StorePlace>,

    /// Demand a login, and run a test authorization server for it
    #[arg(long, conflicts_with = "stdio")]
    auth: bool,

    /// The port of the test authorization server; 0 takes any that is free [default: --port plus 1]
    #[arg(long, value_name = "PORT", requires = "auth")]
    auth_port: Option<u16>,

    /// Grant every login at once, without a consent page
    #[arg(long, requires = "auth")]
    auto_approve: bool,
}

/// Serves until the client or the user ends it.
pub(crate) async fn run(options: Options) -> Result<(), CliError> {
    let keys = options.keys_env.as_deref().map(KeyRing::from_env);
    let keys = keys.transpose();
    let keys = keys.map_err(|error| CliError::usage(error.to_string()))?;
    let store = match &options.store {
        Some(place) => Some(open_store(place).await?),
        None => None,
    };
    let server = build_server(options.auth, keys, store.clone())
        .map_err(|error| CliError::new(error.to_string()))?;
    if options.transport.stdio {
        return serve_stdio(server, "demo").await;
    }
    // A token is for one resource, and the endpoint of HTTP+SSE would be another.
    let mut http = listen(server, &options.transport, !options.auth).await?;
    let mut authorization_server = None;
    if options.auth {
        let (protected, server) = protect(http, &options, store).await?;
        http = protected;
        authorization_server = Some(server);
    }
    let (url, sse) = (http.url(), http.sse_url());
    let banner = Banner {
        url: &url,
        sse: sse.as_deref(),
        issuer: authorization_server.as_ref().map(|server| server.issuer()),
    };
    serve_http(http, &banner.to_string()).await
}

/// Lets only requests with a token through, and starts the server that issues tokens.
async fn protect(
    http: HttpServer,
    options: &Options,
    store: Option<Arc<dyn Store>>,
) -> Result<(HttpServer, TestAuthorizationServer), CliError> {
    let resource = http.url();
    let next_port = match options.transport.port() {
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
