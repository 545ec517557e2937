//! Prompts, and suggestions for their arguments.

use std::collections::BTreeMap;

use serde::Deserialize;
use turnbuckle::types::{CompletionArgument, CompletionReference};

use crate::problem::Problem;
use crate::scene::{Scene, same};

#[derive(Deserialize)]
struct Prompt {
    name: String,
    arguments: BTreeMap<String, String>,
    says: String,
}

pub(super) async fn prompt(scene: &Scene) -> Result<(), Problem> {
    let entry: Prompt = scene.entry("prompt")?;
    let result = scene.client.get_prompt(entry.name, entry.arguments).await?;
    let message = result.messages.first().ok_or("no message came")?;
    same(&message.content.as_text(), &Some(&*entry.says))
}

#[derive(Deserialize)]
struct Completion {
    #[serde(rename = "ref")]
    reference: CompletionReference,
    argument: CompletionArgument,
    values: Vec<String>,
}

pub(super) async fn completion(scene: &Scene) -> Result<(), Problem> {
    let entry: Completion = scene.entry("completion")?;
    let CompletionArgument { name, value, .. } = entry.argument;
    let result = scene.client.complete(entry.reference, name, value).await?;
    same(&result.completion.values, &entry.values)
}
