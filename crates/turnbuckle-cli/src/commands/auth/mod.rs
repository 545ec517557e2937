//! The `auth` commands: logging in at servers, and a server to try logins with.

mod debug;
mod login;
mod serve_test;
mod status;
mod target;

use clap::Subcommand;

use super::TargetArgs;
use crate::args::{Deferred, OutputArgs};
use crate::connection::unless_interrupted;
use crate::error::CliError;
use turnbuckle_session::internal::ShutdownSignals;

/// The verbs after `turnbuckle auth`.
#[derive(Subcommand)]
pub(crate) enum AuthCommand {
    /// Logs in at a server, in the browser
    #[command(override_usage = "turnbuckle auth login <TARGET> [OPTIONS]")]
    Login(Deferred<login::Options>),

    /// Removes the credentials for a server
    #[command(override_usage = "turnbuckle auth logout <TARGET> [OPTIONS]")]
    Logout(Deferred<TargetArgs>),

    /// Shows the login at a server: issuer, client, scopes, end
    #[command(override_usage = "turnbuckle auth status <TARGET> [OPTIONS]")]
    Status(Deferred<TargetArgs>),

    /// Prints the access token for a server, refreshed if that is due
    #[command(override_usage = "turnbuckle auth token <TARGET> [OPTIONS]")]
    Token(Deferred<TargetArgs>),

    /// Logs in and prints each step, with the fix for what failed
    #[command(override_usage = "turnbuckle auth debug <TARGET> [OPTIONS]")]
    Debug(Deferred<login::Options>),

    /// Runs an authorization server for tests and development; never use it in production
    ServeTest(Deferred<serve_test::Options>),
}

impl AuthCommand {
    pub(crate) fn output_args(&mut self) -> Option<&OutputArgs> {
        let args = match self {
            Self::Login(Deferred(options)) | Self::Debug(Deferred(options)) => &options.target_args,
            Self::Logout(Deferred(args))
            | Self::Status(Deferred(args))
            | Self::Token(Deferred(args)) => args,
            Self::ServeTest(_) => return None,
        };
        Some(&args.common.output)
    }
}

/// Runs a command until it is done or a signal arrives.
pub(crate) async fn run(command: AuthCommand) -> Result<(), CliError> {
    // The server ends with 0 when a signal ends it.
    if let AuthCommand::ServeTest(Deferred(options)) = command {
        return serve_test::run(options).await;
    }
    let mut signals = ShutdownSignals::new()
        .map_err(|error| CliError::new(format!("cannot catch signals: {error}")))?;
    unless_interrupted(&mut signals, run_command(command)).await
}

async fn run_command(command: AuthCommand) -> Result<(), CliError> {
    match command {
        AuthCommand::Login(Deferred(options)) => login::run(options).await,
        AuthCommand::Logout(Deferred(args)) => login::log_out(args).await,
        AuthCommand::Status(Deferred(args)) => status::run(args).await,
        AuthCommand::Token(Deferred(args)) => status::print_token(args).await,
        AuthCommand::Debug(Deferred(options)) => debug::run(options).await,
        AuthCommand::ServeTest(Deferred(options)) => serve_test::run(options).await,
    }
}
