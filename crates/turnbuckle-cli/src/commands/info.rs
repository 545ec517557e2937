//! The `info` command: shows a server's identity, revision and capabilities.

use serde::Serialize;
use turnbuckle::EraKind;
use turnbuckle::session::transport::LinkKind;
use turnbuckle::types::{Implementation, ServerCapabilities};

use super::TargetArgs;
use crate::connection::{ServerConnection, with_server};
use crate::error::CliError;
use crate::output::{Style, sanitize, sanitize_line};

pub(crate) async fn run(mut args: TargetArgs) -> Result<(), CliError> {
    let (server, words) = args.server()?;
    words.expect_end()?;
    with_server(&args.common, server, async |connection| {
        if connection.console.is_text() {
            print_text(connection).await
        } else {
            print_json(connection)
        }
    })
    .await
}

/// The result of `info` as JSON, with the member names of the specification.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info<'a> {
    protocol_version: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    supported_versions: &'a [String],
    capabilities: &'a ServerCapabilities,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_info: Option<&'a Implementation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
}

fn print_json(connection: &ServerConnection) -> Result<(), CliError> {
    let server = &*connection.server;
    let info = Info {
        protocol_version: server.revision.as_str(),
        supported_versions: &server.supported_versions,
        capabilities: &server.capabilities,
        server_info: server.implementation.as_ref(),
        instructions: server.instructions.as_deref(),
    };
    connection
        .console
        .print_json(&serde_json::to_string(&info)?)
}

async fn print_text(connection: &ServerConnection) -> Result<(), CliError> {
    let console = &connection.console;
    let server = &*connection.server;
    let mut lines = Vec::new();
    let mut row = |name: &str, value: String| {
        lines.push(format!(
            "  {}  {value}",
            console.style(Style::Dim, &format!("{name:<10}"))
        ));
    };
    let name = match &server.implementation {
        Some(who) => {
            let name = who.title.as_deref().unwrap_or(&who.name);
            format!(
                "{} {}",
                console.style(Style::Strong, &sanitize_line(name, 80)),
                sanitize_line(&who.version, 40)
            )
        }
        None => "A server without a name".to_owned(),
    };
    if let Some(who) = &server.implementation {
        if who.title.is_some() {
            row("name", sanitize_line(&who.name, 80));
        }
        if let Some(description) = &who.description {
            row("about", sanitize_line(description, 200));
        }
        if let Some(website) = &who.website_url {
            row("website", sanitize_line(website, 200));
        }
    }
    row("address", sanitize_line(connection.client.address(), 200));
    let era = match server.era() {
        EraKind::Modern => "modern",
        EraKind::Legacy => "legacy",
    };
    let binding = match server.link_kind {
        LinkKind::Duplex => "one stream for all messages",
        LinkKind::Exchange => "one HTTP exchange per request",
    };
    row(
        "speaks",
        format!("{} ({era} era), {binding}", server.revision),
    );
    let other: Vec<_> = server
        .supported_versions
        .iter()
        .filter(|version| *version != server.revision.as_str())
        .map(|version| sanitize_line(version, 40))
        .collect();
    if !other.is_empty() {
        row("and", other.join(", "));
    }
    for (name, value) in describe_offers(connection).await? {
        row(name, value);
    }
    console.print(&name)?;
    console.print(&lines.join("\n"))?;
    if let Some(instructions) = &server.instructions {
        console.print(&format!(
            "\n{}",
            console.style(Style::Dim, "Instructions for models:")
        ))?;
        console.print(&sanitize(instructions))?;
    }
    Ok(())
}

/// Returns the declared capabilities with the number of items.
async fn describe_offers(
    connection: &ServerConnection,
) -> Result<Vec<(&'static str, String)>, CliError> {
    let client = &connection.client;
    let capabilities = &connection.server.capabilities;
    let changes = |list_changed: Option<bool>| match list_changed {
        Some(true) => ", announces changes",
        _ => "",
    };
    let mut offers = Vec::new();
    if let Some(tools) = &capabilities.tools {
        let count = client.list_tools().fetch_all().await?.len();
        offers.push(("tools", format!("{count}{}", changes(tools.list_changed))));
    }
    if let Some(resources) = &capabilities.resources {
        let count = client.list_resources().fetch_all().await?.len();
        let templates = client.list_resource_templates().fetch_all().await?.len();
        let subscribe = match resources.subscribe {
            Some(true) => ", supports subscriptions",
            _ => "",
        };
        let announced = changes(resources.list_changed);
        offers.push(("resources", format!("{count}{announced}{subscribe}")));
        offers.push(("templates", templates.to_string()));
    }
    if let Some(prompts) = &capabilities.prompts {
        let count = client.list_prompts().fetch_all().await?.len();
        offers.push((
            "prompts",
            format!("{count}{}", changes(prompts.list_changed)),
        ));
    }
    let mut others = Vec::new();
    others.extend(
        capabilities
            .completions
            .is_some()
            .then(|| "completion".to_owned()),
    );
    others.extend(capabilities.logging.is_some().then(|| "logging".to_owned()));
    others.extend(
        capabilities
            .extensions
            .keys()
            .map(|id| sanitize_line(id, 80)),
    );
    let experimental = capabilities.experimental.keys();
    others.extend(experimental.map(|name| format!("{} (experimental)", sanitize_line(name, 80))));
    if !others.is_empty() {
        offers.push(("also", others.join(", ")));
    }
    Ok(offers)
}
