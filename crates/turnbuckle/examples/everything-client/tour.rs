//! A tour of a server: its lists, then every listed item.

use serde_json::json;
use turnbuckle::Client;
use turnbuckle::client::Error;
use turnbuckle::types::Tool;

use crate::arguments::{ToolCall, example};

/// Uses everything that the server declares. An error response is printed; other errors end the
/// tour and are returned.
pub(crate) async fn run(
    client: &Client,
    calls: Vec<ToolCall>,
    scenario: &str,
) -> Result<(), Error> {
    let Some(server) = client.server_info() else {
        return Ok(());
    };
    if server.capabilities.tools.is_some() {
        let tools = client.list_tools().fetch_all().await?;
        println!("{} tools", tools.len());
        if scenario == "json-schema-2020-12-preservation" {
            echo_schema(client, &tools).await?;
        } else if calls.is_empty() {
            for tool in &tools {
                call(client, &tool.name, &example(tool)).await?;
            }
        } else {
            for wanted in &calls {
                call(client, &wanted.name, &wanted.arguments).await?;
            }
        }
    }
    if server.capabilities.resources.is_some() {
        for resource in client.list_resources().fetch_all().await? {
            let read = client.read_resource(resource.uri.as_str()).await;
            report("resource", &resource.uri, read.map(drop))?;
        }
        client.list_resource_templates().fetch_all().await?;
    }
    if server.capabilities.prompts.is_some() {
        for prompt in client.list_prompts().fetch_all().await? {
            let arguments = prompt.arguments.iter().flatten();
            let arguments = arguments.map(|argument| (argument.name.as_str(), "example"));
            let filled = client.get_prompt(prompt.name.as_str(), arguments).await;
            report("prompt", &prompt.name, filled.map(drop))?;
        }
    }
    Ok(())
}

/// Sends the schema of a tool back unchanged.
async fn echo_schema(client: &Client, tools: &[Tool]) -> Result<(), Error> {
    for tool in tools
        .iter()
        .filter(|tool| tool.name == "json_schema_2020_12_tool")
    {
        let arguments = json!({"schema": tool.input_schema});
        call(client, "json_schema_echo", &arguments).await?;
    }
    Ok(())
}

async fn call(client: &Client, tool: &str, arguments: &serde_json::Value) -> Result<(), Error> {
    let called = client.call_tool(tool, arguments).await;
    report("tool", tool, called.map(drop))
}

/// Prints the outcome of a request, and returns errors other than error responses.
fn report(what: &str, name: &str, outcome: Result<(), Error>) -> Result<(), Error> {
    match outcome {
        Ok(()) => println!("{what} {name}: answered"),
        Err(Error::ErrorResponse(error)) => println!("{what} {name}: {}", error.message),
        Err(error) => return Err(error),
    }
    Ok(())
}
