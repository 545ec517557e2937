//! `complete`: suggestions for the value of an argument.

use turnbuckle::types::{
    CompletionContext, Map, PromptReference, Reference, ResourceTemplateReference,
};

use super::{Asked, prompt};
use crate::failure::Failure;
use crate::output::line;
use crate::session::{Session, with_server};
use crate::suggest::did_you_mean;

pub(crate) async fn run(mut asked: Asked) -> Result<(), Failure> {
    let (target, mut words) = asked.target()?;
    let of = words.need("the name of a prompt, or a URI template,")?;
    let argument = words.need("the argument")?;
    let (name, value) = argument.split_once('=').unwrap_or((&argument, ""));
    let others: Vec<(String, String)> = words
        .rest()
        .iter()
        .map(|word| pair(word))
        .collect::<Result<_, _>>()?;
    with_server(&asked.common, target, async |session| {
        let reference = refer(session, &of, name).await?;
        let mut call = session.client.complete(reference, name, value);
        if !others.is_empty() {
            let known: Map<String> = others.into_iter().collect();
            call.params_mut().context = Some(CompletionContext::new().arguments(known));
        }
        let (result, text) = session.verbatim(call).await?;
        let screen = &session.screen;
        if !screen.is_text() {
            return screen.print_json(&text);
        }
        let completion = &result.completion;
        let values: Vec<_> = completion
            .values
            .iter()
            .map(|value| line(value, 500))
            .collect();
        if !values.is_empty() {
            screen.print(&values.join("\n"))?;
        }
        let more = completion.has_more == Some(true);
        match &completion.total {
            Some(total) if more => screen.note(&format!("{} of {total}", values.len())),
            None if more => screen.note("there are more"),
            _ if values.is_empty() => screen.note("no suggestions"),
            _ => {}
        }
        Ok(())
    })
    .await
}

/// A value of another argument that is known already.
fn pair(word: &str) -> Result<(String, String), Failure> {
    match word.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::usage(format!("{word:?} is not NAME=VALUE"))),
    }
}

/// What the argument belongs to: what looks like a URI is a template, anything else a prompt.
async fn refer(session: &Session, of: &str, argument: &str) -> Result<Reference, Failure> {
    if of.contains(['{', ':']) {
        return Ok(ResourceTemplateReference::new(of).into());
    }
    let prompt = prompt::find(session, of).await?;
    let names = || {
        prompt
            .arguments
            .iter()
            .flatten()
            .map(|argument| &*argument.name)
    };
    if !names().any(|name| name == argument) {
        let failure = Failure::usage(format!("the prompt {of:?} has no argument {argument:?}"));
        let known = format!("it has {}", names().collect::<Vec<_>>().join(", "));
        return Err(failure.hint(did_you_mean(argument, names()).unwrap_or(known)));
    }
    Ok(PromptReference::new(of).into())
}
