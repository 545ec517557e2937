//! `serve sqlite`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use turnbuckle_serve::sqlite::{Options, server};

use super::program::{options_error, serve};
use crate::args::parse_time;
use crate::error::CliError;
use crate::serving::ServingArgs;

/// Options of `serve sqlite`.
#[derive(Args)]
pub(crate) struct SqliteOptions {
    /// The database file, which is created if there is none
    #[arg(value_name = "FILE")]
    database: PathBuf,

    /// Leave out the tools that change the database
    #[arg(long)]
    read_only: bool,

    /// Return at most this many rows
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    max_rows: usize,

    /// Give a statement up after this time
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10s")]
    query_timeout: Duration,

    #[command(flatten)]
    serving: ServingArgs,
}

/// Serves until the client or the user ends it.
pub(super) async fn run(options: SqliteOptions) -> Result<(), CliError> {
    let summary = format!("The database {}", options.database.display());
    let sqlite = Options::new(options.database)
        .read_only(options.read_only)
        .max_rows(options.max_rows)
        .query_timeout(options.query_timeout);
    let server = server(sqlite).map_err(options_error)?;
    serve(server, &options.serving, "serve sqlite", &summary).await
}
