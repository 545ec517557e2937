//! `serve git`.

use std::path::PathBuf;

use clap::Args;
use turnbuckle_serve::git::{Options, server};

use super::program::{options_error, serve};
use crate::error::CliError;
use crate::serving::ServingArgs;

/// Options of `serve git`.
#[derive(Args)]
pub(crate) struct GitOptions {
    /// A repository, or a directory of repositories
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,

    #[command(flatten)]
    serving: ServingArgs,
}

/// Serves until the client or the user ends it.
pub(super) async fn run(options: GitOptions) -> Result<(), CliError> {
    let mut served = Options::new();
    for dir in options.dirs {
        served = served.directory(dir);
    }
    let server = server(served).map_err(options_error)?;
    serve(server, &options.serving, "serve git", "Repositories").await
}
