//! The `raw` command: sends any request and prints its result.

use serde::Deserialize;
use turnbuckle::types::{CallToolResult, RawObject};

use super::TargetArgs;
use super::call::refuse_tool_error;
use crate::args::Format;
use crate::connection::with_server;
use crate::error::CliError;
use crate::input::read_text;
use crate::output::pretty;

pub(crate) async fn run(mut args: TargetArgs) -> Result<(), CliError> {
    let (server, mut words) = args.server()?;
    let method = words.require("the method")?;
    let params = words.next().map(|word| parse_params(&word)).transpose()?;
    words.expect_end()?;
    let timeout = args.common.protocol.timeout;
    with_server(&args.common, server, async |connection| {
        connection.apply_log_level().await?;
        let result = connection
            .client
            .request_raw(&method, params.clone(), timeout)
            .await?;
        let console = &connection.console;
        match console.args.output {
            Format::Text => console.print(&pretty(result.as_str()))?,
            _ => console.print_json(result.as_str())?,
        }
        // No other result has `isError`.
        match result.decode::<CallToolResult>() {
            Ok(result) => refuse_tool_error(connection, &tool_name(params.as_ref()), &result),
            Err(_) => Ok(()),
        }
    })
    .await
}

/// Parses parameters given as text, from a file or from standard input.
fn parse_params(word: &str) -> Result<RawObject, CliError> {
    let text = read_text(word)?;
    text.trim()
        .parse()
        .map_err(|error| CliError::usage(format!("the parameters are not a JSON object: {error}")))
}

/// Returns the name of the tool that the parameters of `tools/call` name.
fn tool_name(params: Option<&RawObject>) -> String {
    #[derive(Deserialize)]
    struct Params {
        name: String,
    }
    let params = params.and_then(|params| params.decode::<Params>().ok());
    params.map_or_else(String::new, |params| params.name)
}
