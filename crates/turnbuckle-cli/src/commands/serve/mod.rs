//! `serve`: servers that anyone runs, one file each.

mod fetch;
mod filesystem;
#[cfg(feature = "git")]
mod git;
mod memory;
mod openapi;
#[cfg(feature = "postgres")]
mod postgres;
mod program;
mod sequential_thinking;
mod skills;
mod sqlite;
mod time;

use clap::Subcommand;

use crate::args::Deferred;
use crate::demo;
use crate::error::CliError;

/// A kind of server.
#[derive(Subcommand)]
pub(crate) enum ServeCommand {
    /// Serves the skills of folders: each folder in them that has a SKILL.md
    Skills(Deferred<skills::SkillsOptions>),

    /// Serves every feature of the protocol, as `turnbuckle demo` does
    Everything(Deferred<demo::Options>),

    /// Serves a tool that fetches web pages as Markdown
    Fetch(Deferred<fetch::FetchOptions>),

    /// Serves the files of directories, and nothing outside of them
    Filesystem(Deferred<filesystem::FilesystemOptions>),

    /// Serves git repositories, without running anything of theirs
    #[cfg(feature = "git")]
    Git(Deferred<git::GitOptions>),

    /// Serves a graph in which a model keeps what it learned, in a file
    Memory(Deferred<memory::MemoryOptions>),

    /// Serves the time, in time zones
    Time(Deferred<time::TimeOptions>),

    /// Serves the operations of an HTTP API as tools, by its OpenAPI document
    #[command(name = "openapi")]
    OpenApi(Deferred<Box<openapi::OpenApiOptions>>),

    /// Serves a PostgreSQL database: read-only queries, and tables as resources
    #[cfg(feature = "postgres")]
    Postgres(Deferred<postgres::PostgresOptions>),

    /// Serves a tool by which a model thinks in steps
    SequentialThinking(Deferred<sequential_thinking::SequentialThinkingOptions>),

    /// Serves a SQLite database file: queries, tables and a memo
    Sqlite(Deferred<sqlite::SqliteOptions>),
}

/// Serves until the client or the user ends it.
pub(crate) async fn run(command: ServeCommand) -> Result<(), CliError> {
    match command {
        ServeCommand::Skills(Deferred(options)) => skills::run(options).await,
        ServeCommand::Everything(Deferred(options)) => demo::run(options).await,
        ServeCommand::Fetch(Deferred(options)) => fetch::run(options).await,
        ServeCommand::Filesystem(Deferred(options)) => filesystem::run(options).await,
        #[cfg(feature = "git")]
        ServeCommand::Git(Deferred(options)) => git::run(options).await,
        ServeCommand::Memory(Deferred(options)) => memory::run(options).await,
        ServeCommand::Time(Deferred(options)) => time::run(options).await,
        ServeCommand::OpenApi(Deferred(options)) => openapi::run(*options).await,
        #[cfg(feature = "postgres")]
        ServeCommand::Postgres(Deferred(options)) => postgres::run(options).await,
        ServeCommand::SequentialThinking(Deferred(options)) => {
            sequential_thinking::run(options).await
        }
        ServeCommand::Sqlite(Deferred(options)) => sqlite::run(options).await,
    }
}
