//! `serve sequential-thinking`.

use clap::Args;
use turnbuckle_serve::sequential_thinking::{Options, server};

use super::program::{options_error, serve};
use crate::error::CliError;
use crate::serving::ServingArgs;

/// Options of `serve sequential-thinking`.
#[derive(Args)]
pub(crate) struct SequentialThinkingOptions {
    #[command(flatten)]
    serving: ServingArgs,
}

/// Serves until the client or the user ends it.
pub(super) async fn run(options: SequentialThinkingOptions) -> Result<(), CliError> {
    let server = server(Options::new()).map_err(options_error)?;
    let command = "serve sequential-thinking";
    serve(server, &options.serving, command, "Sequential thinking").await
}
