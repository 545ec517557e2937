//! The `bridge` command: serves a server over another transport, in every revision.

use clap::Args;
use turnbuckle::Server;
use turnbuckle::servers::{Proxy, Servers};
use turnbuckle::session::transport::Timeouts;

use super::TargetArgs;
use crate::args::CommonArgs;
use crate::args::limits::limit_client;
use crate::connection::{LoginLayer, TargetLogin, prepare};
use crate::error::{CliError, ExitStatus};
use crate::output::sanitize_line;
use crate::serving::{ServingArgs, serve};

/// The name of the server behind the bridge. It shows in logs and errors alone.
const UPSTREAM: &str = "server";

/// Options of `bridge`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) target_args: TargetArgs,

    #[command(flatten)]
    serving: ServingArgs,
}

/// Serves until the client or the user ends it.
pub(crate) async fn run(mut options: Options) -> Result<(), CliError> {
    let (target, words) = options.target_args.target()?;
    words.expect_end()?;
    let common = &options.target_args.common;
    let login = TargetLogin::new(common, &target)?;
    login.confirm_target().await?;
    let proxy = login.unless_interrupted(connect(&login)).await?;
    let what = format!("a bridge to {}", upstream_name(&proxy));
    let served = serve(proxy.server().clone(), &options.serving, "bridge", &what).await;
    proxy.servers().close().await;
    served
}

/// Connects the server behind the bridge.
///
/// # Errors
/// Fails if the server cannot be reached now. Later the bridge connects it again.
async fn connect(login: &TargetLogin<'_>) -> Result<Proxy, CliError> {
    let TargetLogin {
        common,
        target,
        console,
        secrets,
        ..
    } = login;
    let layer = LoginLayer::Stored;
    let prepared = prepare((*target).clone(), layer, common, console, secrets, None).await?;
    let CommonArgs { protocol, .. } = common;
    let (era, limits) = (protocol.era(), protocol.limits.clone());
    let (timeout, connect_timeout) = (protocol.timeout, protocol.connect_timeout);
    let proxy = Servers::builder("turnbuckle", env!("CARGO_PKG_VERSION"))
        .server(UPSTREAM, prepared.connector)
        .prefix(UPSTREAM, "")
        .clients(move |client| {
            let client = client.era(era).connect_timeout(connect_timeout);
            let client = match timeout {
                Some(timeout) => client.timeouts(Timeouts::uniform(timeout)),
                None => client,
            };
            limit_client(client, &limits)
        })
        .proxy(Server::new("turnbuckle-bridge", env!("CARGO_PKG_VERSION")))
        .await
        .map_err(|error| CliError::new(error.to_string()))?;
    let status = proxy.servers().status();
    let Some(failed) = status.iter().find(|status| !status.is_ready()) else {
        return Ok(proxy);
    };
    let reason = failed.last_error.clone().unwrap_or_default();
    proxy.servers().close().await;
    Err(CliError::new(reason).status(ExitStatus::Unreachable))
}

/// Returns the name that the server behind the bridge gives itself.
fn upstream_name(proxy: &Proxy) -> String {
    let status = proxy.servers().status();
    let info = status.into_iter().find_map(|status| status.info);
    let name = info.and_then(|info| info.implementation.as_ref().map(|it| it.name.clone()));
    name.map_or_else(|| "a server".to_owned(), |name| sanitize_line(&name, 80))
}
