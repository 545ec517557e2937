//! Steps in which a server asks the client.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::answers::{All, NAME, REPLY, ROOTS};
use crate::problem::Problem;
use crate::scene::{Scene, holds, same, text};

#[derive(Deserialize)]
struct Asks {
    tool: String,
    arguments: Value,
    asks: String,
}

/// Calls a tool that asks once; returns its text.
async fn call_asking_tool(
    scene: &Scene,
    entry: Asks,
    questions: fn(&All) -> &Vec<String>,
) -> Result<String, Problem> {
    let before = questions(&scene.messages.all()).len();
    let result = scene.succeed(&entry.tool, &entry.arguments).await?;
    let asked = questions(&scene.messages.all())[before..].to_vec();
    same(&asked, &vec![entry.asks])?;
    Ok(text(&result))
}

pub(super) async fn sampling(scene: &Scene) -> Result<(), Problem> {
    let text = call_asking_tool(scene, scene.entry("sampling")?, |messages| {
        &messages.prompts
    })
    .await?;
    holds(&text, REPLY)
}

/// Checks that fields the user leaves empty get the form's defaults: all of them, or as many as
/// arrived in a revision whose forms cannot declare them.
pub(super) async fn form(scene: &Scene) -> Result<(), Problem> {
    #[derive(Deserialize)]
    struct Form {
        defaults: Map<String, Value>,
    }
    let text = call_asking_tool(scene, scene.entry("form")?, |messages| &messages.forms).await?;
    let text = without_whitespace(&text);
    let Form { defaults } = scene.entry("form")?;
    let came = scene.messages.all().defaults.clone();
    let mut wanted = defaults;
    wanted.retain(|field, _| scene.features.elicitation_url || came.contains(field));
    wanted.insert("name".to_owned(), NAME.into());
    for (field, value) in wanted {
        holds(&text, &without_whitespace(&format!("{field:?}:{value}")))?;
    }
    Ok(())
}

pub(super) async fn url(scene: &Scene) -> Result<(), Problem> {
    let text = call_asking_tool(scene, scene.entry("url")?, |messages| &messages.urls).await?;
    holds(&without_whitespace(&text), r#""action":"accept""#)
}

#[derive(Deserialize)]
struct Call {
    tool: String,
    arguments: Value,
}

pub(super) async fn roots(scene: &Scene) -> Result<(), Problem> {
    let entry: Call = scene.entry("roots")?;
    let roots = text(&scene.succeed(&entry.tool, &entry.arguments).await?);
    ROOTS.into_iter().try_for_each(|uri| holds(&roots, uri))
}

/// Returns the text without white space, as servers format JSON differently.
fn without_whitespace(text: &str) -> String {
    text.split_whitespace().collect()
}
