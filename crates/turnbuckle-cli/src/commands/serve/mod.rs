//! `serve`: servers that anyone runs, one file each.

mod fetch;
mod openapi;
mod program;
mod sequential_thinking;
mod skills;
mod sqlite;

use clap::Subcommand;

use crate::error::CliError;

/// A kind of server.
#[derive(Subcommand)]
pub(crate) enum ServeCommand {
    /// Serves the skills of folders: each folder in them that has a SKILL.md
    Skills(skills::SkillsOptions),

    /// Serves a tool that fetches web pages as Markdown
    Fetch(fetch::FetchOptions),

    /// Serves the operations of an HTTP API as tools, by its OpenAPI document
    #[command(name = "openapi")]
    OpenApi(Box<openapi::OpenApiOptions>),

    /// Serves a tool by which a model thinks in steps
    SequentialThinking(sequential_thinking::SequentialThinkingOptions),

    /// Serves a SQLite database file: queries, tables and a memo
    Sqlite(sqlite::SqliteOptions),
}

/// Serves until the client or the user ends it.
pub(crate) async fn run(command: ServeCommand) -> Result<(), CliError> {
    match command {
        ServeCommand::Skills(options) => skills::run(options).await,
        ServeCommand::Fetch(options) => fetch::run(options).await,
        ServeCommand::OpenApi(options) => openapi::run(*options).await,
        ServeCommand::SequentialThinking(options) => sequential_thinking::run(options).await,
        ServeCommand::Sqlite(options) => sqlite::run(options).await,
    }
}
