//! What clients see of a server, as a text.

use std::fs;
use std::path::Path;

use serde::Serialize;
use turnbuckle_client::{List, ListMethod};
use turnbuckle_server::Result;
use turnbuckle_types::{Prompt, Resource, ResourceTemplate, Tool};

use super::pretty::pretty;
use super::{Tested, connect};

/// The variable that has [`assert_surface`] write its file.
const UPDATE: &str = "TURNBUCKLE_UPDATE";

/// What a client that looks around finds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Surface {
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    resource_templates: Vec<ResourceTemplate>,
}

/// What a client of the newest revision sees of a server: its instructions, tools, prompts,
/// resources and resource templates, as JSON of one member a line, in the order in which they are
/// sent.
///
/// # Errors
/// When the server cannot be built, or does not answer.
pub async fn surface(server: impl Tested) -> Result<String> {
    let client = connect(server).await?;
    let info = client.server();
    let info = info.as_deref();
    let declared = info.map(|info| &info.capabilities);
    let resources = declared.is_some_and(|declared| declared.resources.is_some());
    let surface = Surface {
        instructions: info.and_then(|info| info.instructions.clone()),
        tools: all(
            declared.is_some_and(|declared| declared.tools.is_some()),
            client.list_tools(),
        )
        .await?,
        prompts: all(
            declared.is_some_and(|declared| declared.prompts.is_some()),
            client.list_prompts(),
        )
        .await?,
        resources: all(resources, client.list_resources()).await?,
        resource_templates: all(resources, client.list_resource_templates()).await?,
    };
    Ok(pretty(&serde_json::to_string(&surface)?))
}

async fn all<M: ListMethod>(declared: bool, list: List<M>) -> Result<Vec<M::Item>> {
    Ok(match declared {
        true => list.all().await?,
        false => Vec::new(),
    })
}

/// Holds the [`surface`] of a server against the file at `path`, which tests find from the root of
/// their package. With `TURNBUCKLE_UPDATE=1` in the environment the file is written instead.
///
/// What a change of a function changes for models then stands in the diff.
///
/// # Panics
/// When they differ, with the first line that does; when the file is not there or cannot be
/// written; and when there is no surface.
pub async fn assert_surface(server: impl Tested, path: impl AsRef<Path>) {
    let update = std::env::var_os(UPDATE).is_some_and(|value| value == "1");
    let held = match surface(server).await {
        Ok(surface) => hold(path.as_ref(), &surface, update),
        Err(failure) => Err(format!("the server has no surface: {failure:?}")),
    };
    if let Err(told) = held {
        #[expect(clippy::panic, reason = "this is how a test fails")]
        {
            panic!("{told}");
        }
    }
}

fn hold(path: &Path, surface: &str, update: bool) -> Result<(), String> {
    let file = path.display();
    if update {
        return fs::write(path, surface).map_err(|error| format!("{file}: {error}"));
    }
    let cure = format!("run the test with {UPDATE}=1 to write it");
    let expected = match fs::read_to_string(path) {
        // As an editor or a version control may have left it.
        Ok(expected) => expected.replace("\r\n", "\n"),
        Err(error) => return Err(format!("{file}: {error}; {cure}")),
    };
    if expected == surface {
        return Ok(());
    }
    let (mut old, mut new) = (expected.lines(), surface.lines());
    let mut line = 0;
    let (old, new) = loop {
        line += 1;
        match (old.next(), new.next()) {
            (None, None) => break (None, None),
            (old, new) if old != new => break (old, new),
            _ => {}
        }
    };
    let end = "the end of the text";
    Err(format!(
        "the surface of the server has changed. {file}, line {line}:\n- {}\n+ {}\n\
         If that is meant, {cure}.",
        old.unwrap_or(end),
        new.unwrap_or(end),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_on_request_and_else_held_against_the_surface() {
        let path = std::env::temp_dir().join(format!("turnbuckle-surface-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let told = hold(&path, "a\n", false).unwrap_err();
        assert!(
            told.ends_with("run the test with TURNBUCKLE_UPDATE=1 to write it"),
            "{told}"
        );
        assert_eq!(hold(&path, "a\nb\n", true), Ok(()));
        assert_eq!(hold(&path, "a\nb\n", false), Ok(()));
        let told = hold(&path, "a\nc\n", false).unwrap_err();
        assert!(told.contains("line 2:\n- b\n+ c\n"), "{told}");
        let told = hold(&path, "a\n", false).unwrap_err();
        assert!(
            told.contains("line 2:\n- b\n+ the end of the text\n"),
            "{told}"
        );
        fs::write(&path, "a\r\nb\r\n").unwrap();
        assert_eq!(hold(&path, "a\nb\n", false), Ok(()));
        fs::remove_file(&path).unwrap();
    }
}
