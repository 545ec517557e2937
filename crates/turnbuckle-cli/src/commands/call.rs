//! The `call` command: calls a tool.

use serde_json::Value;
use turnbuckle::client::Error;
use turnbuckle::types::{CallToolResult, Tool};

use super::TargetArgs;
use crate::arguments::parse_arguments;
use crate::connection::{ServerConnection, with_server};
use crate::error::{CliError, ExitStatus};
use crate::output::{Style, pretty, render_blocks};
use turnbuckle_types::base::nearest::did_you_mean;

pub(crate) async fn run(mut args: TargetArgs) -> Result<(), CliError> {
    let (server, mut words) = args.server()?;
    let name = words.require("the name of the tool")?;
    let words = words.into_rest();
    with_server(&args.common, server, async |connection| {
        let (schema, unlisted): (Value, _) = match find_tool(connection, &name).await? {
            Ok(tool) => (
                serde_json::from_str(tool.input_schema.as_str()).unwrap_or_default(),
                None,
            ),
            // The server may show the tool to callers with more scopes only.
            Err(hint) if connection.has_authorization().await => (Value::Null, Some(hint)),
            Err(hint) => {
                let text = format!("{} has no tool {name:?}", connection.server_name());
                return Err(CliError::new(text).status(ExitStatus::Refused).hint(hint));
            }
        };
        let arguments = parse_arguments(&words, &schema)?;
        connection.apply_log_level().await?;
        let call = connection.client.call_tool(&*name, &arguments);
        let called = connection.call_verbatim(call).await;
        let (result, text) = called.map_err(|error| match (error, unlisted) {
            (error @ Error::ErrorResponse(_), Some(hint)) => CliError::from(error).hint(hint),
            (error, _) => error.into(),
        })?;
        if connection.console.is_text() {
            print_result(connection, &result)?
        } else {
            if connection.console.args.out.is_some() {
                render_blocks(&connection.console, &result.content)?;
            }
            connection.console.print_json(&text)?;
        }
        refuse_tool_error(connection, &name, &result)
    })
    .await
}

/// Fails if the tool reported an error, with the exit status of one.
pub(super) fn refuse_tool_error(
    connection: &ServerConnection,
    name: &str,
    result: &CallToolResult,
) -> Result<(), CliError> {
    if !result.is_error() {
        return Ok(());
    }
    let words: Vec<_> = result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .collect();
    let failure = CliError::new(format!("the tool {name:?} failed")).status(ExitStatus::Refused);
    Err(match connection.capability_hint(&words.join(" ")) {
        Some(hint) => failure.hint(hint),
        None => failure,
    })
}

/// The most names of tools that are compared with a name that no tool has.
const MAX_SUGGESTIONS: usize = 10_000;

/// Finds the tool in the server's list. If it is not there, the inner error is what to try next.
async fn find_tool(
    connection: &ServerConnection,
    name: &str,
) -> Result<Result<Tool, String>, CliError> {
    let mut names = Vec::new();
    let mut tools = connection.client.list_tools();
    while let Some(tool) = tools.next().await {
        let tool = tool?;
        if tool.name == name {
            return Ok(Ok(tool));
        }
        if names.len() < MAX_SUGGESTIONS {
            names.push(tool.name);
        }
    }
    if let Some(fault) = connection.fault_of(name) {
        let text = format!("the tool {name:?} cannot be used: {fault}");
        return Err(CliError::new(text).status(ExitStatus::ProtocolViolation));
    }
    let names = names.iter().map(String::as_str);
    let there = "`turnbuckle list` shows the tools of the server".to_owned();
    Ok(Err(did_you_mean(name, names).unwrap_or(there)))
}

fn print_result(connection: &ServerConnection, result: &CallToolResult) -> Result<(), CliError> {
    let console = &connection.console;
    let content = render_blocks(console, &result.content)?;
    if result.is_error() {
        console.print(&console.style(Style::Error, &content))?;
    } else if !content.is_empty() {
        console.print(&content)?;
    }
    // The text content usually repeats the structured content.
    let has_text = result.content.iter().any(|block| block.as_text().is_some());
    if let Some(structured) = &result.structured_content
        && (!has_text || console.args.verbose)
    {
        console.print(&pretty(structured.as_str()))?;
    } else if result.content.is_empty() && result.structured_content.is_none() {
        console.print_note("done: the tool returned nothing");
    }
    Ok(())
}
