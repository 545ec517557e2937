//! The `skill` commands: listing, reading and verifying the skills of a server.

mod list;
mod read;
mod reader;
mod verify;

use clap::Subcommand;

use super::TargetArgs;
use crate::args::Deferred;
use crate::error::CliError;

/// The verbs after `turnbuckle skill`.
#[derive(Subcommand)]
pub(crate) enum SkillCommand {
    /// Lists the skills of a server
    #[command(override_usage = "\
turnbuckle skill list <TARGET> [OPTIONS]
       turnbuckle skill list [OPTIONS] -- <COMMAND>...")]
    List(Deferred<TargetArgs>),

    /// Reads the SKILL.md or another file of a skill, and verifies it
    #[command(override_usage = "\
turnbuckle skill read <TARGET> <URI> [FILE] [OPTIONS]
       turnbuckle skill read <URI> [FILE] [OPTIONS] -- <COMMAND>...")]
    Read(Deferred<read::Options>),

    /// Verifies all files of one skill, or of all skills that a server lists
    #[command(override_usage = "\
turnbuckle skill verify <TARGET> [URI] [OPTIONS]
       turnbuckle skill verify [URI] [OPTIONS] -- <COMMAND>...")]
    Verify(Deferred<TargetArgs>),
}

impl SkillCommand {
    /// Returns the server and the options that every verb has.
    pub(crate) fn target_args(&mut self) -> &mut TargetArgs {
        match self {
            Self::List(Deferred(args)) | Self::Verify(Deferred(args)) => args,
            Self::Read(Deferred(options)) => &mut options.target_args,
        }
    }
}

pub(crate) async fn run(command: SkillCommand) -> Result<(), CliError> {
    match command {
        SkillCommand::List(Deferred(args)) => list::run(args).await,
        SkillCommand::Read(Deferred(options)) => read::run(options).await,
        SkillCommand::Verify(Deferred(args)) => verify::run(args).await,
    }
}
