//! The `prompt` command: shows the messages of a prompt.

use turnbuckle::types::{GetPromptResult, Prompt};

use super::TargetArgs;
use super::listed::{NamedItem, find_item};
use crate::arguments::parse_text_arguments;
use crate::connection::{ServerConnection, with_server};
use crate::error::CliError;
use crate::output::{Style, render_blocks, sanitize_line};

pub(crate) async fn run(mut args: TargetArgs) -> Result<(), CliError> {
    let (server, mut words) = args.server()?;
    let name = words.require("the name of the prompt")?;
    let words = words.into_rest();
    with_server(&args.common, server, async |connection| {
        let prompt = find_prompt(connection, &name).await?;
        let declared = prompt.item().map(|prompt| {
            let arguments = prompt.arguments.iter().flatten();
            let declared = arguments.map(|one| (&*one.name, one.required == Some(true)));
            declared.collect::<Vec<_>>()
        });
        let arguments = parse_text_arguments(&words, declared.as_deref())?;
        connection.apply_log_level().await?;
        let call = connection.client.get_prompt(&*name, arguments);
        let filled_in = connection.call_verbatim(call).await;
        let (result, text) = filled_in.map_err(|error| prompt.explain(error))?;
        let console = &connection.console;
        if console.is_text() {
            return print_result(connection, &result);
        }
        if console.args.out.is_some() {
            render_messages(connection, &result)?;
        }
        console.print_json(&text)
    })
    .await
}

/// Finds the prompt in the server's list.
pub(super) async fn find_prompt(
    connection: &ServerConnection,
    name: &str,
) -> Result<NamedItem<Prompt>, CliError> {
    let prompts = connection.client.list_prompts();
    find_item(connection, "prompt", name, prompts, |prompt| &prompt.name).await
}

/// Prints each message under its role.
fn print_result(connection: &ServerConnection, result: &GetPromptResult) -> Result<(), CliError> {
    let console = &connection.console;
    if let Some(description) = &result.description {
        console.print_note(&console.style_stderr(Style::Dim, &sanitize_line(description, 500)));
    }
    console.print(&render_messages(connection, result)?)
}

fn render_messages(
    connection: &ServerConnection,
    result: &GetPromptResult,
) -> Result<String, CliError> {
    let console = &connection.console;
    let messages = result.messages.iter().map(|message| {
        let role = console.style(Style::Strong, &format!("{}:", message.role.as_str()));
        let content = render_blocks(console, std::slice::from_ref(&message.content))?;
        Ok(format!("{role}\n{content}"))
    });
    Ok(messages.collect::<Result<Vec<_>, CliError>>()?.join("\n\n"))
}
