//! `serve filesystem`.

use std::path::PathBuf;

use clap::Args;
use turnbuckle_serve::filesystem::{Limits, Options, server};

use super::program::{options_error, serve};
use crate::args::parse_size;
use crate::error::CliError;
use crate::serving::ServingArgs;

/// Options of `serve filesystem`.
#[derive(Args)]
pub(crate) struct FilesystemOptions {
    /// A directory whose files are served; with --stdio the roots of the client choose, inside of these if there are any
    #[arg(value_name = "DIR", required_unless_present = "stdio")]
    dirs: Vec<PathBuf>,

    /// The most that a call reads and returns, in bytes, with k, M or G
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "8M")]
    max_read_bytes: usize,

    #[command(flatten)]
    serving: ServingArgs,
}

/// Serves until the client or the user ends it.
pub(super) async fn run(options: FilesystemOptions) -> Result<(), CliError> {
    let mut limits = Limits::default();
    limits.max_read_bytes = options.max_read_bytes;
    let mut served = Options::new()
        .client_roots(options.serving.transport.stdio)
        .limits(limits);
    for dir in options.dirs {
        served = served.directory(dir);
    }
    let server = server(served).map_err(options_error)?;
    serve(server, &options.serving, "serve filesystem", "Files").await
}
