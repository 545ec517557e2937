//! The commands, one file each.

pub(crate) mod auth;
pub(crate) mod call;
pub(crate) mod complete;
pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod listen;
pub(crate) mod prompt;
pub(crate) mod raw;
pub(crate) mod read;

use std::ffi::OsString;

use clap::Args;

use crate::args::CommonArgs;
use crate::connection::{PositionalArgs, Target};
use crate::error::CliError;

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
}

impl TargetArgs {
    /// Resolves the server and returns the remaining positional arguments.
    pub(crate) fn target(&mut self) -> Result<(Target, PositionalArgs), CliError> {
        let mut words = PositionalArgs::new(std::mem::take(&mut self.words));
        let target = Target::resolve(&self.common.server, &self.command, &mut words)?;
        Ok((target, words))
    }
}
