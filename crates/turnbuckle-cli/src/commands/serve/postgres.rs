//! `serve postgres`.

use std::time::Duration;

use clap::Args;
use turnbuckle_serve::postgres::{Options, server};

use super::program::{options_error, serve};
use crate::args::parse_time;
use crate::error::CliError;
use crate::input::read_variable;
use crate::serving::ServingArgs;

/// Options of `serve postgres`.
#[derive(Args)]
pub(crate) struct PostgresOptions {
    /// The address of the database: a URL, or keys and values
    #[arg(required_unless_present = "address_env")]
    address: Option<String>,

    /// Read the address from an environment variable, so that no list of processes shows its password
    #[arg(long, value_name = "VAR", conflicts_with = "address")]
    address_env: Option<String>,

    /// Return at most this many rows
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    max_rows: usize,

    /// Give a query up after this time
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10s")]
    query_timeout: Duration,

    #[command(flatten)]
    serving: ServingArgs,
}

/// Serves until the client or the user ends it.
pub(super) async fn run(options: PostgresOptions) -> Result<(), CliError> {
    let address = match (options.address, &options.address_env) {
        (None, Some(variable)) => read_variable(variable)?,
        (address, _) => address.unwrap_or_default(),
    };
    let postgres = Options::new(address)
        .max_rows(options.max_rows)
        .query_timeout(options.query_timeout);
    let server = server(postgres).map_err(options_error)?;
    serve(
        server,
        &options.serving,
        "serve postgres",
        "A PostgreSQL database",
    )
    .await
}
