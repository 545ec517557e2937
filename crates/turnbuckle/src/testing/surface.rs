//! The surface of a server as text: everything that clients see of it.

use std::fs;
use std::path::Path;

use serde::Serialize;
use turnbuckle_client::{List, ListMethod};
use turnbuckle_types::{Prompt, Resource, ResourceTemplate, Tool};

use super::pretty::pretty;
use super::{TestTarget, connect};
use crate::error::{Error, Result};

/// The environment variable that makes [`assert_surface`] write its file.
const UPDATE_VARIABLE: &str = "TURNBUCKLE_UPDATE";

/// The instructions and lists of a server.
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

/// Returns what a client of the newest revision sees of a server as JSON: instructions, tools,
/// prompts, resources and resource templates, one member per line, in the order in which they are
/// sent.
///
/// # Errors
/// If the server cannot be built or does not answer.
pub async fn surface(server: impl TestTarget) -> Result<String> {
    let client = connect(server).await?;
    let info = client.server_info();
    let info = info.as_deref();
    let declared = info.map(|info| &info.capabilities);
    let resources = declared.is_some_and(|declared| declared.resources.is_some());
    let surface = Surface {
        instructions: info.and_then(|info| info.instructions.clone()),
        tools: fetch_all_if(
            declared.is_some_and(|declared| declared.tools.is_some()),
            client.list_tools(),
        )
        .await?,
        prompts: fetch_all_if(
            declared.is_some_and(|declared| declared.prompts.is_some()),
            client.list_prompts(),
        )
        .await?,
        resources: fetch_all_if(resources, client.list_resources()).await?,
        resource_templates: fetch_all_if(resources, client.list_resource_templates()).await?,
    };
    let json = serde_json::to_string(&surface)
        .map_err(|error| Error::new("the surface has no JSON form").with_source(error))?;
    Ok(pretty(&json))
}

async fn fetch_all_if<M: ListMethod>(declared: bool, list: List<M>) -> Result<Vec<M::Item>> {
    Ok(match declared {
        true => list.fetch_all().await?,
        false => Vec::new(),
    })
}

/// Compares the [`surface`] of a server with the file at `path`, relative to the root of the
/// package. With `TURNBUCKLE_UPDATE=1` in the environment the file is written instead, with its folder.
///
/// Changes that models would see then show up in the diff.
///
/// # Panics
/// If they differ, with the first different line; if the file is missing or cannot be written; and
/// if the server does not answer.
pub async fn assert_surface(server: impl TestTarget, path: impl AsRef<Path>) {
    let update = std::env::var_os(UPDATE_VARIABLE).is_some_and(|value| value == "1");
    let outcome = match surface(server).await {
        Ok(surface) => compare_with_file(path.as_ref(), &surface, update),
        Err(error) => Err(format!("cannot get the surface of the server: {error:?}")),
    };
    if let Err(message) = outcome {
        #[expect(clippy::panic, reason = "this is how a test fails")]
        {
            panic!("{message}");
        }
    }
}

fn compare_with_file(path: &Path, surface: &str, update: bool) -> Result<(), String> {
    let file = path.display();
    if update {
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = folder.and_then(|()| fs::write(path, surface));
        return written.map_err(|error| format!("{file}: {error}"));
    }
    let remedy = format!("run the test with {UPDATE_VARIABLE}=1 to write it");
    let expected = match fs::read_to_string(path) {
        // Editors and version control may convert line ends.
        Ok(expected) => expected.replace("\r\n", "\n"),
        Err(error) => return Err(format!("{file}: {error}; {remedy}")),
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
        "the surface of the server has changed: {file}, line {line}:\n- {}\n+ {}\n\
         If this is intended, {remedy}.",
        old.unwrap_or(end),
        new.unwrap_or(end),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_on_request_and_compared_otherwise() {
        let name = format!("turnbuckle-surface-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let path = folder.join("tests/surface.json");
        let _ = fs::remove_dir_all(&folder);
        let error = compare_with_file(&path, "a\n", false).unwrap_err();
        assert!(
            error.ends_with("run the test with TURNBUCKLE_UPDATE=1 to write it"),
            "{error}"
        );
        assert_eq!(compare_with_file(&path, "a\nb\n", true), Ok(()));
        assert_eq!(compare_with_file(&path, "a\nb\n", false), Ok(()));
        let error = compare_with_file(&path, "a\nc\n", false).unwrap_err();
        assert!(error.contains("line 2:\n- b\n+ c\n"), "{error}");
        let error = compare_with_file(&path, "a\n", false).unwrap_err();
        assert!(
            error.contains("line 2:\n- b\n+ the end of the text\n"),
            "{error}"
        );
        fs::write(&path, "a\r\nb\r\n").unwrap();
        assert_eq!(compare_with_file(&path, "a\nb\n", false), Ok(()));
        fs::remove_dir_all(&folder).unwrap();
    }
}
