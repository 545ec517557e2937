//! The `bridge` command: serves a server over another transport, in every revision.

mod header_env;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use turnbuckle::Server;
use turnbuckle::servers::{Proxy, Servers, ServersLimits, UpstreamMode, UpstreamOptions};
use turnbuckle::session::transport::{Connector, Timeouts};
use turnbuckle::stdio::StderrMode;

use super::TargetArgs;
use crate::args::limits::limit_client;
use crate::args::{CommonArgs, parse_time};
use crate::connection::{LoginLayer, Target, TargetLogin, prepare, prepare_command};
use crate::error::{CliError, ExitStatus};
use crate::output::sanitize_line;
use crate::serving::{ServingArgs, serve_with};
use header_env::{HeaderCheck, HeaderCommand, HeaderVariable, parse_header_variable};

/// The most characters of the name of the server behind the bridge.
const MAX_NAME_CHARS: usize = 80;

/// The time that a first connection gets beyond its own limit.
const GRACE: Duration = Duration::from_secs(5);

/// Options of `bridge`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) target_args: TargetArgs,

    #[command(flatten)]
    serving: ServingArgs,

    #[command(flatten)]
    connections: ConnectionArgs,
}

/// Options of the connections to the server behind the bridge.
#[derive(Args)]
#[command(next_help_heading = "Connections")]
struct ConnectionArgs {
    /// The clients that share a connection: shared, per-session, per-principal, or pool:N for N connections
    /// that take turns [default: per-session for a command that is served over HTTP, otherwise shared]
    #[arg(long, value_name = "MODE", value_parser = str::parse::<UpstreamMode>)]
    mode: Option<UpstreamMode>,

    /// Close a connection after this time without a request, and end its command; the next request starts
    /// another
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10m")]
    idle: Duration,

    /// The most connections of per-session and per-principal; no client has more than half of them
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    max_connections: u16,

    /// Set a variable of the command's environment to the value of a header of its client; may be repeated
    #[arg(long = "header-to-env", value_name = "HEADER=VAR", value_parser = parse_header_variable, conflicts_with = "stdio")]
    header_variables: Vec<HeaderVariable>,
}

/// Serves until the client or the user ends it.
pub(crate) async fn run(mut options: Options) -> Result<(), CliError> {
    let (target, words) = options.target_args.target()?;
    words.expect_end()?;
    let common = &options.target_args.common;
    let login = TargetLogin::new(common, &target)?;
    login.confirm_target().await?;
    let upstream = options.upstream(&login).await?;
    let header_check = upstream.header_check.clone();
    let proxy = login.unless_interrupted(connect(upstream, common));
    let proxy = proxy.await?;
    let what = format!("a bridge to {}", upstream_name(&proxy));
    let server = proxy.server().clone();
    let served = serve_with(
        server,
        &options.serving,
        "bridge",
        &what,
        |http| match header_check {
            Some(check) => http.layer(check),
            None => http,
        },
    )
    .await;
    proxy.servers().close().await;
    served
}

/// Returns the name of the server behind the bridge in logs and errors: its URL or its program.
fn name_of(target: &Target) -> String {
    let name = match target {
        Target::Url { url, .. } => {
            // A URL may have secrets behind its path, and before its host.
            let url = url.split(['?', '#']).next().unwrap_or_default();
            let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
            let rest = rest.split_once('@').map_or(rest, |it| it.1);
            format!("{scheme}://{rest}")
        }
        Target::Command { program, .. } => program.to_string_lossy().into_owned(),
    };
    sanitize_line(&name, MAX_NAME_CHARS)
}

/// The server behind the bridge.
struct Upstream {
    name: String,
    connector: Arc<dyn Connector>,
    options: UpstreamOptions,
    /// The check of headers that become variables. With it, the command may need those of a client to start.
    header_check: Option<HeaderCheck>,
}

impl Options {
    /// Returns the server, with the settings of its connections.
    async fn upstream(&self, login: &TargetLogin<'_>) -> Result<Upstream, CliError> {
        let args = &self.connections;
        let is_command = matches!(login.target, Target::Command { .. });
        let mode = args.mode.unwrap_or(match is_command {
            true if !self.serving.transport.stdio => UpstreamMode::PerSession,
            _ => UpstreamMode::Shared,
        });
        if mode == UpstreamMode::PerPrincipal && !self.serving.has_auth() {
            return Err(
                CliError::usage("requests have principals with `--auth` only")
                    .hint("add `--auth ISSUER`, or take another `--mode`"),
            );
        }
        let options = UpstreamOptions::default()
            .mode(mode)
            .idle_timeout(args.idle)
            .max_connections(args.max_connections.into());
        let TargetLogin {
            common,
            target,
            console,
            secrets,
            ..
        } = login;
        let target = Target::clone(target);
        let name = name_of(&target);
        if !is_command {
            if !args.header_variables.is_empty() {
                return Err(CliError::usage("`--header-to-env` is for commands"));
            }
            let layer = LoginLayer::Stored;
            let prepared = prepare(target, layer, common, console, secrets, None).await?;
            return Ok(Upstream {
                name,
                connector: prepared.connector,
                options,
                header_check: None,
            });
        }
        let (mut command, _) = prepare_command(target, common, console, secrets, None)?;
        if !self.serving.transport.stdio {
            // Errors reach users who share a command, and must not have what it writes for others.
            command = command.stderr(StderrMode::Inherit);
        }
        if args.header_variables.is_empty() {
            return Ok(Upstream {
                name,
                connector: Arc::new(command),
                options,
                header_check: None,
            });
        }
        if !matches!(mode, UpstreamMode::PerSession | UpstreamMode::PerPrincipal) {
            let reason = "`--header-to-env` needs a command for each client";
            return Err(CliError::usage(reason).hint("add `--mode per-session`"));
        }
        let header_command = HeaderCommand::new(&args.header_variables, command.clone());
        Ok(Upstream {
            name,
            connector: Arc::new(command),
            options: header_command.add_to(options),
            header_check: Some(header_command.check()),
        })
    }
}

/// Connects the server behind the bridge.
///
/// # Errors
/// Fails if the server cannot be reached now, unless a client may bring what it needs. Later the bridge connects it
/// again.
async fn connect(upstream: Upstream, common: &CommonArgs) -> Result<Proxy, CliError> {
    let Upstream {
        name,
        connector,
        options,
        header_check,
    } = upstream;
    let server = Server::new("turnbuckle-bridge", env!("CARGO_PKG_VERSION"));
    let CommonArgs { protocol, .. } = common;
    let (era, limits) = (protocol.era(), protocol.limits.clone());
    let (timeout, connect_timeout) = (protocol.timeout, protocol.connect_timeout);
    // The attempt has a limit of its own, whose error says more.
    let longest = connect_timeout + GRACE;
    let limits_of_servers = ServersLimits::default()
        .first_attempt_timeout(longest)
        .own_list_timeout(longest);
    let proxy = Servers::builder("turnbuckle", env!("CARGO_PKG_VERSION"))
        .server(&*name, connector)
        .prefix(&name, "")
        .limits(limits_of_servers)
        .mirror_server_info()
        .upstream(&name, |_| options)
        .clients(move |client| {
            let client = client.era(era).connect_timeout(connect_timeout);
            let client = match timeout {
                Some(timeout) => client.timeouts(Timeouts::uniform(timeout)),
                None => client,
            };
            limit_client(client, &limits)
        })
        .proxy(server)
        .await
        .map_err(|error| CliError::new(error.to_string()))?;
    let status = proxy.servers().status();
    let failed = status.iter().find(|status| !status.is_ready());
    let Some(failed) = failed.filter(|_| header_check.is_none()) else {
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
    name.map_or_else(
        || "a server".to_owned(),
        |name| sanitize_line(&name, MAX_NAME_CHARS),
    )
}
