//! `serve`: servers that anyone runs, one file each.

mod sequential_thinking;
mod skills;

use clap::Subcommand;
use turnbuckle::ServerBuilder;

use crate::error::CliError;
use crate::serving::ServingArgs;

/// A kind of server.
#[derive(Subcommand)]
pub(crate) enum ServeCommand {
    /// Serves the skills of folders: each folder in them that has a SKILL.md
    Skills(skills::SkillsOptions),

    /// Serves a tool by which a model thinks in steps
    SequentialThinking(sequential_thinking::SequentialThinkingOptions),
}

/// Serves until the client or the user ends it.
pub(crate) async fn run(command: ServeCommand) -> Result<(), CliError> {
    match command {
        ServeCommand::Skills(options) => skills::run(options).await,
        ServeCommand::SequentialThinking(options) => sequential_thinking::run(options).await,
    }
}

/// Serves as the options say. `summary` says what is served.
async fn serve(
    server: ServerBuilder,
    serving: &ServingArgs,
    command: &str,
    summary: &str,
) -> Result<(), CliError> {
    let server = server
        .build()
        .map_err(|error| CliError::new(error.to_string()))?;
    crate::serving::serve(server, serving, command, summary).await
}

/// Returns the error of options that make no server.
fn options_error(error: turnbuckle_serve::Error) -> CliError {
    CliError::usage(error.to_string())
}
