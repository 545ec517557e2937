//! A tour of a server: its lists, then every listed item.

use serde_json::json;
use turnbuckle::Client;
use turnbuckle::client::Error;
use turnbuckle::skills::client::{SkillError, SkillsClient as _};
use turnbuckle::skills::{EXTENSION_ID, SKILL_FILE};
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
    let has_extensions = server.revision.features().extensions;
    if has_extensions && server.capabilities.extensions.contains_key(EXTENSION_ID) {
        use_skills(client, scenario).await?;
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

/// Lists the skills, then loads each and reads its files, unless the scenario is about what is read before a skill is
/// needed.
async fn use_skills(client: &Client, scenario: &str) -> Result<(), Error> {
    let listing = match client.list_skills().fetch_all().await {
        Ok(listing) => listing,
        Err(error) => return report_skill("skills", Err(error)),
    };
    println!("{} skills", listing.len());
    if scenario == "sep-2640-client-no-prefetch" {
        return Ok(());
    }
    for entry in &listing.skills {
        let skill = match client.load_skill(entry).await {
            Ok(skill) => skill,
            Err(error) => {
                report_skill(entry.name(), Err(error))?;
                continue;
            }
        };
        let files = skill.files().unwrap_or_default().into_iter();
        for file in files.filter(|file| *file != SKILL_FILE) {
            report_skill(file, skill.read(file).await.map(drop))?;
        }
        println!("skill {}: loaded", entry.name());
    }
    Ok(())
}

/// Prints the outcome of using a skill, and returns errors of requests other than error responses.
fn report_skill(name: &str, outcome: Result<(), SkillError>) -> Result<(), Error> {
    match outcome {
        Ok(()) => println!("skill file {name}: read"),
        Err(SkillError::Request { error, .. }) => return report("skill", name, Err(*error)),
        Err(error) => println!("skill {name}: {error}"),
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
