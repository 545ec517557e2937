//! `serve`: servers that anyone runs, one file each.

mod openapi;
mod program;
mod sequential_thinking;
mod skills;

use clap::Subcommand;

use crate::error::CliError;

/// A kind of server.
#[derive(Subcommand)]
pub(crate) enum ServeCommand {
    /// Serves the skills of folders: each folder in them that has a SKILL.md
    Skills(skills::SkillsOptions),

    /// Serves the operations of an HTTP API as tools, by its OpenAPI document
    #[command(name = "openapi")]
    OpenApi(Box<openapi::OpenApiOptions>),

    /// Serves a tool by which a model thinks in steps
    SequentialThinking(sequential_thinking::SequentialThinkingOptions),
}

/// Serves until the client or the user ends it.
pub(crate) async fn run(command: ServeCommand) -> Result<(), CliError> {
    match command {
        ServeCommand::Skills(options) => skills::run(options).await,
        ServeCommand::OpenApi(options) => openapi::run(*options).await,
        ServeCommand::SequentialThinking(options) => sequential_thinking::run(options).await,
    }
}
