//! `prompt`: the messages of a prompt, filled in.

use turnbuckle::types::{GetPromptResult, Prompt};

use super::Asked;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Ink, blocks, line};
use crate::session::{Session, with_server};
use crate::suggest::did_you_mean;
use crate::values::texts;

pub(crate) async fn run(mut asked: Asked) -> Result<(), Failure> {
    let (target, mut words) = asked.target()?;
    let name = words.need("the name of the prompt")?;
    let words = words.rest();
    with_server(&asked.common, target, async |session| {
        let prompt = find(session, &name).await?;
        let known: Vec<_> = prompt
            .arguments
            .iter()
            .flatten()
            .map(|argument| (&*argument.name, argument.required == Some(true)))
            .collect();
        let arguments = texts(&words, &known)?;
        session.want_log().await?;
        let call = session.client.prompt(&*name, arguments);
        let (result, text) = session.verbatim(call).await?;
        let screen = &session.screen;
        if screen.is_text() {
            return show(session, &result);
        }
        if screen.look.out.is_some() {
            shown(session, &result)?;
        }
        screen.print_json(&text)
    })
    .await
}

/// The prompt of that name, as the server lists it.
pub(super) async fn find(session: &Session, name: &str) -> Result<Prompt, Failure> {
    let mut names = Vec::new();
    let mut prompts = session.client.list_prompts();
    while let Some(prompt) = prompts.next().await {
        let prompt = prompt?;
        if prompt.name == name {
            return Ok(prompt);
        }
        names.push(prompt.name);
    }
    let server = session.server_name();
    let failure = Failure::new(format!("{server} has no prompt {name:?}")).exit(Exit::Refused);
    let names = names.iter().map(String::as_str);
    let there = "`list prompts` shows those that there are".to_owned();
    Err(failure.hint(did_you_mean(name, names).unwrap_or(there)))
}

/// Each message under the name of who says it.
fn show(session: &Session, result: &GetPromptResult) -> Result<(), Failure> {
    let screen = &session.screen;
    if let Some(description) = &result.description {
        screen.note(&screen.err_ink(Ink::Dim, &line(description, 500)));
    }
    screen.print(&shown(session, result)?)
}

fn shown(session: &Session, result: &GetPromptResult) -> Result<String, Failure> {
    let screen = &session.screen;
    let messages = result.messages.iter().map(|message| {
        let role = screen.ink(Ink::Strong, &format!("{}:", message.role.as_str()));
        let content = blocks(screen, std::slice::from_ref(&message.content))?;
        Ok(format!("{role}\n{content}"))
    });
    Ok(messages.collect::<Result<Vec<_>, Failure>>()?.join("\n\n"))
}
