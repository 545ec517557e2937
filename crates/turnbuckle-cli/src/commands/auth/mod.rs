//! The `auth` commands: logging in at servers, and a server to try logins with.

mod debug;
mod login;
mod serve_test;
mod status;

use clap::Subcommand;
use turnbuckle::auth::OAuth;

use super::TargetArgs;
use crate::args::{CommonArgs, OutputArgs};
use crate::authorization::{LoginProfile, UserStore, build_oauth, url_without_query};
use crate::connection::Target;
use crate::connection::{LoginLayer, is_unencrypted_remote};
use crate::connection::{explain, interrupted, try_connection};
use crate::error::CliError;
use crate::exit_status::ExitStatus;
use crate::observe::KnownSecrets;
use crate::output::Console;
use crate::signals::ShutdownSignals;

/// A command of `auth`.
#[derive(Subcommand)]
pub(crate) enum AuthCommand {
    /// Logs in at a server, in the browser
    #[command(override_usage = "turnbuckle auth login <TARGET> [OPTIONS]")]
    Login(login::Options),

    /// Removes the credentials for a server
    #[command(override_usage = "turnbuckle auth logout <TARGET> [OPTIONS]")]
    Logout(TargetArgs),

    /// Shows the login at a server: issuer, client, scopes, end
    #[command(override_usage = "turnbuckle auth status <TARGET> [OPTIONS]")]
    Status(TargetArgs),

    /// Prints the access token for a server, refreshed if that is due
    #[command(override_usage = "turnbuckle auth token <TARGET> [OPTIONS]")]
    Token(TargetArgs),

    /// Logs in and prints each step, with the fix for what failed
    #[command(override_usage = "turnbuckle auth debug <TARGET> [OPTIONS]")]
    Debug(login::Options),

    /// Runs an authorization server for tests and development; never use it in production
    ServeTest(serve_test::Options),
}

impl AuthCommand {
    pub(crate) fn output_args(&self) -> Option<&OutputArgs> {
        let args = match self {
            Self::Login(options) | Self::Debug(options) => &options.target_args,
            Self::Logout(args) | Self::Status(args) | Self::Token(args) => args,
            Self::ServeTest(_) => return None,
        };
        Some(&args.common.output)
    }
}

/// Runs a command until it is done or a signal arrives.
pub(crate) async fn run(command: AuthCommand) -> Result<(), CliError> {
    // The server ends with 0 when a signal ends it.
    if let AuthCommand::ServeTest(options) = command {
        return serve_test::run(options).await;
    }
    let mut signals = ShutdownSignals::new()
        .map_err(|error| CliError::new(format!("cannot catch signals: {error}")))?;
    tokio::select! {
        done = run_command(command) => done,
        () = signals.recv() => Err(interrupted()),
    }
}

async fn run_command(command: AuthCommand) -> Result<(), CliError> {
    match command {
        AuthCommand::Login(options) => login::run(options).await,
        AuthCommand::Logout(args) => login::log_out(args).await,
        AuthCommand::Status(args) => status::run(args).await,
        AuthCommand::Token(args) => status::print_token(args).await,
        AuthCommand::Debug(options) => debug::run(options).await,
        AuthCommand::ServeTest(options) => serve_test::run(options).await,
    }
}

/// The server that an `auth` command is about.
struct AuthTarget {
    common: CommonArgs,
    target: Target,
    url: String,
    store: UserStore,
    secrets: KnownSecrets,
    console: Console,
}

impl AuthTarget {
    /// Resolves the server, which must have a URL that tokens may be sent to.
    fn resolve(mut args: TargetArgs) -> Result<Self, CliError> {
        let (target, words) = args.target()?;
        words.expect_end()?;
        let Target::Url { url, .. } = &target else {
            return Err(CliError::usage("a command needs no login").hint(
                "servers over standard input and output get credentials from their environment: \
                 `--env NAME=VALUE`",
            ));
        };
        if is_unencrypted_remote(url) {
            return Err(CliError::usage(format!(
                "a token for {} would be sent without encryption",
                url_without_query(url)
            ))
            .hint("use https"));
        }
        let secrets = KnownSecrets::default();
        Ok(Self {
            url: url.clone(),
            store: UserStore::new(secrets.clone()),
            secrets,
            console: Console::new(&args.common.output),
            target,
            common: args.common,
        })
    }

    /// Returns whether the options forbid to ask the user for a login.
    fn forbids_login(&self) -> bool {
        self.common.server.stored_auth_only || self.common.protocol.no_input
    }

    async fn profile(&self) -> Result<LoginProfile, CliError> {
        LoginProfile::load(&self.store, &self.url).await
    }

    /// Builds the authorization. Without a user interface, it works with stored credentials only.
    fn oauth(&self, profile: &LoginProfile) -> Result<OAuth, CliError> {
        build_oauth(&self.url, self.store.clone(), profile, &self.common.server)
    }

    /// Connects to the server, with this layer, and closes the connection.
    async fn try_connection(&self, layer: LoginLayer) -> Result<(), CliError> {
        try_connection(
            &self.common,
            &self.target,
            layer,
            &self.console,
            &self.secrets,
        )
        .await
    }

    /// Adds to an error how to go on.
    fn explain(&self, error: CliError) -> CliError {
        explain(error, &self.target, &self.common, &self.console)
    }

    /// Returns the error for a user who is not logged in.
    fn not_logged_in(&self) -> CliError {
        let words = self.target.words(&self.common.server).unwrap_or_default();
        CliError::new(format!("not logged in at {}", url_without_query(&self.url)))
            .status(ExitStatus::AuthNeeded)
            .hint(format!("`turnbuckle auth login {words}`"))
    }
}
