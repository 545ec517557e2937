//! The `read` command: reads a resource.

use turnbuckle::client::Error;

use super::TargetArgs;
use crate::connection::{ServerConnection, with_server};
use crate::error::CliError;
use crate::output::render_contents;
use turnbuckle_types::base::nearest::did_you_mean;

pub(crate) async fn run(mut args: TargetArgs) -> Result<(), CliError> {
    let (server, mut words) = args.server()?;
    let uri = words.require("the URI of the resource")?;
    words.expect_end()?;
    with_server(&args.common, server, async |connection| {
        connection.apply_log_level().await?;
        let read = connection
            .call_verbatim(connection.client.read_resource(&*uri))
            .await;
        let (result, text) = match read {
            Ok(read) => read,
            Err(Error::ErrorResponse(refusal)) => {
                return Err(
                    refusal_with_hint(connection, &uri, Error::ErrorResponse(refusal)).await,
                );
            }
            Err(error) => return Err(error.into()),
        };
        let console = &connection.console;
        if console.is_text() {
            return console.print(&render_contents(console, &result.contents)?);
        }
        if console.args.out.is_some() {
            render_contents(console, &result.contents)?;
        }
        console.print_json(&text)
    })
    .await
}

/// Adds the nearest known URI to the error of a refused read.
async fn refusal_with_hint(connection: &ServerConnection, uri: &str, error: Error) -> CliError {
    let failure = CliError::from(error);
    let Ok(resources) = connection.client.list_resources().fetch_all().await else {
        return failure;
    };
    if resources.iter().any(|resource| resource.uri == uri) {
        return failure;
    }
    match did_you_mean(uri, resources.iter().map(|resource| &*resource.uri)) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
