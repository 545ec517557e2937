//! `keys`: the secret keys of a server.

use std::io::Write as _;

use clap::Subcommand;
use turnbuckle::SecretKey;

use crate::error::CliError;

/// The verbs after `turnbuckle keys`.
#[derive(Subcommand)]
pub(crate) enum KeysCommand {
    /// Prints a random key for TURNBUCKLE_KEYS, which holds a server's keys, the newest first
    Generate,
}

/// Runs a command.
pub(crate) fn run(command: &KeysCommand) -> Result<(), CliError> {
    let KeysCommand::Generate = command;
    let key = SecretKey::generate().map_err(|error| CliError::new(error.to_string()))?;
    writeln!(std::io::stdout(), "{}", key.to_text())
        .map_err(|error| CliError::new(format!("cannot print the key: {error}")))
}
