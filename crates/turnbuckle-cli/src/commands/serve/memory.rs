//! `serve memory`.

use std::path::PathBuf;

use clap::Args;
use turnbuckle_serve::memory::{Options, server};

use super::program::{options_error, serve};
use crate::error::CliError;
use crate::serving::ServingArgs;

/// The environment variable with the file, as for the reference server.
const FILE_VARIABLE: &str = "MEMORY_FILE_PATH";

/// Options of `serve memory`.
#[derive(Args)]
pub(crate) struct MemoryOptions {
    /// The file that keeps the graph; it need not exist yet [default: $MEMORY_FILE_PATH]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    serving: ServingArgs,
}

/// Serves until the client or the user ends it.
pub(super) async fn run(options: MemoryOptions) -> Result<(), CliError> {
    let variable = || std::env::var_os(FILE_VARIABLE).map(PathBuf::from);
    let file = options.file.or_else(variable).ok_or_else(|| {
        CliError::usage("name the file that keeps the graph, such as ~/.local/share/memory.jsonl")
    })?;
    let server = server(Options::new(file)).map_err(options_error)?;
    serve(server, &options.serving, "serve memory", "Memory").await
}
