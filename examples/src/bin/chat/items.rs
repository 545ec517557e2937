//! The resources and prompts of the servers, which the user brings into the conversation.

use serde_json::{Value, json};
use turnbuckle::servers::Servers;
use turnbuckle::types::{ContentBlock, ResourceContents, Role};

use crate::console::Console;

/// Prints the resources that can be attached.
pub(crate) fn show_resources(servers: &Servers, console: &Console) {
    for resource in servers.resources() {
        let about = resource
            .item
            .title
            .as_deref()
            .unwrap_or(&resource.item.name);
        console.print(format!("{}  {about}", resource.item.uri));
    }
    for template in servers.resource_templates() {
        console.print(&template.item.uri_template);
    }
}

/// Prints the prompts with their arguments.
pub(crate) fn show_prompts(servers: &Servers, console: &Console) {
    for prompt in servers.prompts() {
        let arguments = prompt.item.arguments.iter().flatten();
        let arguments: String = arguments
            .map(|argument| format!(" {}=…", argument.name))
            .collect();
        let about = prompt.item.description.as_deref().unwrap_or_default();
        console.print(format!("{}{arguments}  {about}", prompt.item.name));
    }
}

/// Reads a resource, and returns the text that stands before the user's next message.
pub(crate) async fn read_resource(servers: &Servers, uri: &str) -> Result<String, String> {
    let read = servers.read_resource(uri).await;
    let read = read.map_err(|error| error.to_string())?;
    let texts = read.contents.iter().map(|contents| match contents {
        ResourceContents::Text(text) => text.text.clone(),
        _ => "(no text)".to_owned(),
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    Ok(format!("The resource {uri}:\n{text}"))
}

/// Fills in a prompt, written as `NAME ARGUMENT=VALUE…`, and returns its messages as the model reads
/// them.
pub(crate) async fn get_prompt(servers: &Servers, written: &str) -> Result<Vec<Value>, String> {
    let mut words = written.split_whitespace();
    let name = words.next().unwrap_or_default();
    let arguments: Option<Vec<_>> = words.map(|word| word.split_once('=')).collect();
    let arguments = arguments.ok_or("an argument is NAME=VALUE, without spaces")?;
    let prompt = servers.get_prompt(name, arguments).await;
    let prompt = prompt.map_err(|error| error.to_string())?;
    let messages = prompt.messages.iter().map(|message| {
        let role = match message.role {
            Role::Assistant => "assistant",
            _ => "user",
        };
        json!({"role": role, "content": block_text(&message.content)})
    });
    Ok(messages.collect())
}

/// Returns a block of content as the model reads it.
pub(crate) fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}
