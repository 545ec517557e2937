//! The `complete` command: suggests values for an argument.

use turnbuckle::types::{
    CompletionContext, CompletionReference, Map, Prompt, PromptReference, ResourceTemplateReference,
};

use super::listed::NamedItem;
use super::{TargetArgs, prompt};
use crate::connection::{ServerConnection, with_server};
use crate::error::CliError;
use crate::output::sanitize_line;
use turnbuckle_types::base::nearest::did_you_mean;

pub(crate) async fn run(mut args: TargetArgs) -> Result<(), CliError> {
    let (server, mut words) = args.server()?;
    let owner = words.require("the name of a prompt, or a URI template,")?;
    let argument = words.require("the argument")?;
    let (name, value) = argument.split_once('=').unwrap_or((&argument, ""));
    let others: Vec<(String, String)> = words
        .into_rest()
        .iter()
        .map(|word| parse_pair(word))
        .collect::<Result<_, _>>()?;
    with_server(&args.common, server, async |connection| {
        let (reference, prompt) = find_reference(connection, &owner, name).await?;
        let mut call = connection.client.complete(reference, name, value);
        if !others.is_empty() {
            let others: Map<String> = others.iter().cloned().collect();
            call.params_mut().context = Some(CompletionContext::new().arguments(others));
        }
        let completed = connection.call_verbatim(call).await;
        let (result, text) = completed.map_err(|error| match prompt {
            Some(prompt) => prompt.explain(error),
            None => error.into(),
        })?;
        let console = &connection.console;
        if !console.is_text() {
            return console.print_json(&text);
        }
        let completion = &result.completion;
        let values: Vec<_> = completion
            .values
            .iter()
            .map(|value| sanitize_line(value, 500))
            .collect();
        if !values.is_empty() {
            console.print(&values.join("\n"))?;
        }
        let more = completion.has_more == Some(true);
        match &completion.total {
            Some(total) if more => {
                console.print_note(&format!("{} of {total} suggestions", values.len()))
            }
            None if more => console.print_note("there are more suggestions"),
            _ if values.is_empty() => console.print_note("no suggestions"),
            _ => {}
        }
        Ok(())
    })
    .await
}

/// Parses another argument and its value.
fn parse_pair(word: &str) -> Result<(String, String), CliError> {
    match word.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(CliError::usage(format!("{word:?} is not NAME=VALUE"))),
    }
}

/// Returns what the argument belongs to: a resource template if `owner` looks like a URI, otherwise
/// a prompt, which is returned with it.
async fn find_reference(
    connection: &ServerConnection,
    owner: &str,
    argument: &str,
) -> Result<(CompletionReference, Option<NamedItem<Prompt>>), CliError> {
    if owner.contains(['{', ':']) {
        return Ok((ResourceTemplateReference::new(owner).into(), None));
    }
    let prompt = prompt::find_prompt(connection, owner).await?;
    let names = || {
        let arguments = prompt.item().and_then(|prompt| prompt.arguments.as_ref());
        arguments
            .into_iter()
            .flatten()
            .map(|argument| &*argument.name)
    };
    if prompt.item().is_some() && !names().any(|name| name == argument) {
        let failure = CliError::usage(format!("the prompt {owner:?} has no argument {argument:?}"));
        let all = format!(
            "its arguments are {}",
            names().collect::<Vec<_>>().join(", ")
        );
        return Err(failure.hint(did_you_mean(argument, names()).unwrap_or(all)));
    }
    Ok((PromptReference::new(owner).into(), Some(prompt)))
}
