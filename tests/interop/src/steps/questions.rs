//! What servers ask the client for.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Problem;
use crate::answers::{All, NAME, REPLY, ROOTS};
use crate::scene::{Scene, holds, same, text};

#[derive(Deserialize)]
struct Asks {
    tool: String,
    arguments: Value,
    asks: String,
}

/// Calls a tool that asks once; returns its text.
async fn asked(
    scene: &Scene,
    entry: Asks,
    questions: fn(&All) -> &Vec<String>,
) -> Result<String, Problem> {
    let before = questions(&scene.heard.all()).len();
    let result = scene.succeed(&entry.tool, &entry.arguments).await?;
    let asked = questions(&scene.heard.all())[before..].to_vec();
    same(&asked, &vec![entry.asks])?;
    Ok(text(&result))
}

pub(super) async fn sampling(scene: &Scene) -> Result<(), Problem> {
    let told = asked(scene, scene.entry("sampling")?, |heard| &heard.prompts).await?;
    holds(&told, REPLY)
}

/// What the user leaves out is filled in with the form's defaults: all of them, or in a revision
/// whose forms cannot say so, as many as came.
pub(super) async fn form(scene: &Scene) -> Result<(), Problem> {
    #[derive(Deserialize)]
    struct Form {
        defaults: Map<String, Value>,
    }
    let told = asked(scene, scene.entry("form")?, |heard| &heard.forms).await?;
    let told = squeezed(&told);
    let Form { defaults } = scene.entry("form")?;
    let came = scene.heard.all().defaults.clone();
    let mut wanted = defaults;
    wanted.retain(|field, _| scene.features.elicitation_url || came.contains(field));
    wanted.insert("name".to_owned(), NAME.into());
    for (field, value) in wanted {
        holds(&told, &squeezed(&format!("{field:?}:{value}")))?;
    }
    Ok(())
}

pub(super) async fn url(scene: &Scene) -> Result<(), Problem> {
    let told = asked(scene, scene.entry("url")?, |heard| &heard.urls).await?;
    holds(&squeezed(&told), r#""action":"accept""#)
}

#[derive(Deserialize)]
struct Call {
    tool: String,
    arguments: Value,
}

pub(super) async fn roots(scene: &Scene) -> Result<(), Problem> {
    let entry: Call = scene.entry("roots")?;
    let told = text(&scene.succeed(&entry.tool, &entry.arguments).await?);
    ROOTS.into_iter().try_for_each(|uri| holds(&told, uri))
}

/// Without white space: servers lay JSON out as they like.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}
