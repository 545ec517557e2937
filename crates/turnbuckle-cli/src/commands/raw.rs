//! The `raw` command: sends any request and prints its result.

use turnbuckle::types::RawObject;

use super::TargetArgs;
use crate::args::Format;
use crate::connection::with_server;
use crate::error::CliError;
use crate::input::read_text;
use crate::output::pretty;

pub(crate) async fn run(mut args: TargetArgs) -> Result<(), CliError> {
    let (target, mut words) = args.target()?;
    let method = words.require("the method")?;
    let params = words.next().map(|word| parse_params(&word)).transpose()?;
    words.expect_end()?;
    let timeout = args.common.protocol.timeout;
    with_server(&args.common, target, async |connection| {
        connection.apply_log_level().await?;
        let result = connection
            .client
            .request_raw(&method, params.clone(), timeout)
            .await?;
        let console = &connection.console;
        match console.args.output {
            Format::Text => console.print(&pretty(result.as_str())),
            _ => console.print_json(result.as_str()),
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
