//! `serve time`.

use clap::Args;
use turnbuckle_serve::time::{Options, server};

use super::program::{options_error, serve};
use crate::error::CliError;
use crate::serving::ServingArgs;

/// Options of `serve time`.
#[derive(Args)]
pub(crate) struct TimeOptions {
    /// The time zone that models take if the user names none [default: that of the system]
    #[arg(long, value_name = "ZONE")]
    local_timezone: Option<String>,

    #[command(flatten)]
    serving: ServingArgs,
}

/// Serves until the client or the user ends it.
pub(super) async fn run(options: TimeOptions) -> Result<(), CliError> {
    let mut served = Options::new();
    if let Some(zone) = options.local_timezone {
        served = served.local_timezone(zone);
    }
    let server = server(served).map_err(options_error)?;
    serve(server, &options.serving, "serve time", "The time").await
}
