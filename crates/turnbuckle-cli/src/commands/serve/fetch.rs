//! `serve fetch`.

use clap::Args;
use turnbuckle_serve::fetch::{Options, server};

use super::program::{options_error, serve};
use crate::args::parse_size;
use crate::error::CliError;
use crate::serving::ServingArgs;

/// Options of `serve fetch`.
#[derive(Args)]
pub(crate) struct FetchOptions {
    /// The name of the program in requests
    #[arg(long, value_name = "TEXT")]
    user_agent: Option<String>,

    /// Fetch pages also where robots.txt forbids it
    #[arg(long)]
    ignore_robots_txt: bool,

    /// Fetch pages of private networks and of this machine, too
    #[arg(long)]
    allow_private_addresses: bool,

    /// Read at most this much of a page
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "5M")]
    max_page: usize,

    #[command(flatten)]
    serving: ServingArgs,
}

/// Serves until the client or the user ends it.
pub(super) async fn run(options: FetchOptions) -> Result<(), CliError> {
    let mut fetch = Options::new()
        .ignore_robots_txt(options.ignore_robots_txt)
        .allow_private_addresses(options.allow_private_addresses)
        .max_page_bytes(options.max_page);
    if let Some(agent) = options.user_agent {
        fetch = fetch.user_agent(agent);
    }
    let server = server(fetch).map_err(options_error)?;
    serve(server, &options.serving, "serve fetch", "Web pages").await
}
