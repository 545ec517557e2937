//! The `call` command: calls a tool.

use clap::Args;
use serde_json::Value;
use turnbuckle::client::Started;
use turnbuckle::types::{CallToolResult, TaskSupportLevel, Tool};

use super::TargetArgs;
use super::listed::find_item;
use super::task::{print_handle, wait_for_task};
use crate::arguments::parse_arguments;
use crate::connection::{ServerConnection, with_server};
use crate::error::{CliError, ExitStatus};
use crate::output::{Style, pretty, render_blocks};

/// Options of `call`.
#[derive(Args)]
pub(crate) struct Options {
    /// Print the handle of the task that the call becomes, if it does, and do not wait
    #[arg(long)]
    detach: bool,

    #[command(flatten)]
    pub(crate) target_args: TargetArgs,
}

pub(crate) async fn run(mut options: Options) -> Result<(), CliError> {
    let (server, mut words) = options.target_args.server()?;
    let name = words.require("the name of the tool")?;
    let words = words.into_rest();
    let common = &options.target_args.common;
    with_server(common, server, async |connection| {
        let tools = connection.client.list_tools();
        let tool = find_item(connection, "tool", &name, tools, |tool| &tool.name).await?;
        let schema = tool.item().map(|tool| tool.input_schema.as_str());
        let schema: Value = serde_json::from_str(schema.unwrap_or_default()).unwrap_or_default();
        let arguments = parse_arguments(&words, &schema)?;
        connection.apply_log_level().await?;
        let call = connection.client.call_tool(&*name, &arguments);
        // A call that 2025-11-25 lets the client decide about is a task only if it is left.
        let may_start = options.detach
            || !tool
                .item()
                .is_some_and(|tool| is_plain_call(connection, tool));
        if !may_start {
            let called = connection.call_verbatim(call).await;
            let (result, text) = called.map_err(|error| tool.explain(error))?;
            return print_outcome(connection, &name, &result, &text);
        }
        let started = connection.start_call(call).await;
        match started.map_err(|error| tool.explain(error))? {
            (Started::Done(result), text) => {
                let text = text.map_or_else(|| serde_json::to_string(&result), Ok)?;
                print_outcome(connection, &name, &result, &text)
            }
            (Started::Task(task), _) if options.detach => print_handle(connection, &task),
            (Started::Task(task), _) => wait_for_task(connection, common, task).await,
        }
    })
    .await
}

/// Returns whether a call of the tool is a task only if the client wishes it.
fn is_plain_call(connection: &ServerConnection, tool: &Tool) -> bool {
    let execution = tool.execution.as_ref();
    let support = execution.and_then(|execution| execution.task_support);
    connection.server.revision.features().core_tasks && support != Some(TaskSupportLevel::Required)
}

/// Prints the result of a call, and fails if the tool reported an error.
pub(super) fn print_outcome(
    connection: &ServerConnection,
    name: &str,
    result: &CallToolResult,
    text: &str,
) -> Result<(), CliError> {
    if connection.console.is_text() {
        print_result(connection, result)?;
    } else {
        if connection.console.args.out.is_some() {
            render_blocks(&connection.console, &result.content)?;
        }
        connection.console.print_json(text)?;
    }
    refuse_tool_error(connection, name, result)
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
