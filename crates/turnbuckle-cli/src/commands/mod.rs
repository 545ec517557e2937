//! The commands, one file each.

pub(crate) mod agent_help;
pub(crate) mod auth;
pub(crate) mod bridge;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod complete;
pub(crate) mod gateway;
pub(crate) mod hosts;
pub(crate) mod info;
pub(crate) mod inspect;
pub(crate) mod keys;
pub(crate) mod list;
mod listed;
pub(crate) mod listen;
pub(crate) mod offers;
pub(crate) mod prompt;
pub(crate) mod raw;
pub(crate) mod read;
pub(crate) mod registry;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod shell;
pub(crate) mod skill;
pub(crate) mod task;
mod verb;

use std::ffi::OsString;

use clap::Args;

use crate::args::CommonArgs;
use crate::connection::{PositionalArgs, ServerConnection, ServerSource, Target};
use crate::error::CliError;

pub(crate) use verb::ServerVerb;

/// A server and the command's own arguments.
#[derive(Args)]
pub(crate) struct TargetArgs {
    /// TARGET (a URL or a name from a file) unless a command follows after `--`; then what is
    /// wanted
    #[arg(value_name = "TARGET", hide = true)]
    words: Vec<String>,

    /// The server's command, instead of TARGET
    #[arg(
        last = true,
        value_name = "COMMAND",
        hide = true,
        conflicts_with = "server"
    )]
    command: Vec<OsString>,

    #[command(flatten)]
    pub(crate) common: CommonArgs,

    /// The connection of the shell that the verb is a line of
    #[arg(skip)]
    connection: Option<Box<ServerConnection>>,
}

impl TargetArgs {
    /// Resolves the server and returns the remaining positional arguments.
    pub(crate) fn target(&mut self) -> Result<(Target, PositionalArgs), CliError> {
        let mut words = PositionalArgs::new(std::mem::take(&mut self.words));
        let target = Target::resolve(&self.common.server, &self.command, &mut words)?;
        Ok((target, words))
    }

    /// Returns the connection of the shell, or resolves the server, and returns the remaining
    /// positional arguments.
    pub(crate) fn server(&mut self) -> Result<(ServerSource, PositionalArgs), CliError> {
        if let Some(connection) = self.connection.take() {
            let words = PositionalArgs::new(std::mem::take(&mut self.words));
            return Ok((ServerSource::Connected(connection), words));
        }
        let (target, words) = self.target()?;
        Ok((ServerSource::Target(target), words))
    }

    /// Returns whether nothing names the server yet.
    pub(crate) fn is_server_missing(&self) -> bool {
        self.words.is_empty() && self.command.is_empty() && self.common.server.server.is_none()
    }

    /// Returns the positional arguments, without a change.
    fn words(&self) -> &[String] {
        &self.words
    }

    /// Sets the connection of the shell.
    ///
    /// # Errors
    /// Fails if the line has the command of a server.
    fn use_connection(&mut self, connection: ServerConnection) -> Result<(), CliError> {
        if !self.command.is_empty() {
            return Err(CliError::usage("the shell has its server already")
                .hint("leave `--` and what follows out"));
        }
        self.connection = Some(Box::new(connection));
        Ok(())
    }
}
