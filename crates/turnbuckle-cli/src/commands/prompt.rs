//! The `prompt` command: shows the messages of a prompt.

use turnbuckle::types::{GetPromptResult, Prompt};

use super::TargetArgs;
use crate::arguments::parse_text_arguments;
use crate::connection::{ServerConnection, with_server};
use crate::error::{CliError, ExitStatus};
use crate::output::{Style, render_blocks, sanitize_line};
use turnbuckle_types::base::nearest::did_you_mean;

pub(crate) async fn run(mut args: TargetArgs) -> Result<(), CliError> {
    let (server, mut words) = args.server()?;
    let name = words.require("the name of the prompt")?;
    let words = words.into_rest();
    with_server(&args.common, server, async |connection| {
        let prompt = find_prompt(connection, &name).await?;
        let declared: Vec<_> = prompt
            .arguments
            .iter()
            .flatten()
            .map(|argument| (&*argument.name, argument.required == Some(true)))
            .collect();
        let arguments = parse_text_arguments(&words, &declared)?;
        connection.apply_log_level().await?;
        let call = connection.client.get_prompt(&*name, arguments);
        let (result, text) = connection.call_verbatim(call).await?;
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
) -> Result<Prompt, CliError> {
    let mut names = Vec::new();
    let mut prompts = connection.client.list_prompts();
    while let Some(prompt) = prompts.next().await {
        let prompt = prompt?;
        if prompt.name == name {
            return Ok(prompt);
        }
        names.push(prompt.name);
    }
    let server = connection.server_name();
    let failure =
        CliError::new(format!("{server} has no prompt {name:?}")).status(ExitStatus::Refused);
    let names = names.iter().map(String::as_str);
    let there = "`turnbuckle list` shows the prompts of the server".to_owned();
    Err(failure.hint(did_you_mean(name, names).unwrap_or(there)))
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
