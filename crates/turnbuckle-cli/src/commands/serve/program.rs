//! The common end of all servers that anyone runs.

use turnbuckle::ServerBuilder;

use crate::error::CliError;
use crate::serving::ServingArgs;

/// Serves as the options say. `summary` says what is served.
pub(super) async fn serve(
    server: ServerBuilder,
    serving: &ServingArgs,
    command: &str,
    summary: &str,
) -> Result<(), CliError> {
    let server = server
        .build()
        .map_err(|error| CliError::new(error.to_string()))?;
    crate::serving::serve(server, serving, command, summary).await
}

/// Returns the error of options that make no server.
pub(super) fn options_error(error: turnbuckle_serve::Error) -> CliError {
    CliError::usage(error.to_string())
}
