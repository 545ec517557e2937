//! `info`: who the server is, and what it offers.

use serde::Serialize;
use turnbuckle::EraKind;
use turnbuckle::session::LinkKind;
use turnbuckle::types::{Implementation, ServerCapabilities};

use super::Asked;
use crate::failure::Failure;
use crate::output::{Ink, clean, line};
use crate::session::{Session, unwritable, with_server};

pub(crate) async fn run(mut asked: Asked) -> Result<(), Failure> {
    let (target, words) = asked.target()?;
    words.end()?;
    with_server(&asked.common, target, async |session| {
        match session.screen.is_text() {
            true => text(session).await,
            false => json(session),
        }
    })
    .await
}

/// What the server said of itself, under the protocol's names.
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

fn json(session: &Session) -> Result<(), Failure> {
    let server = &*session.server;
    let info = Info {
        protocol_version: server.revision.as_str(),
        supported_versions: &server.supported,
        capabilities: &server.capabilities,
        server_info: server.implementation.as_ref(),
        instructions: server.instructions.as_deref(),
    };
    let json = serde_json::to_string(&info).map_err(unwritable)?;
    session.screen.print_json(&json)
}

async fn text(session: &Session) -> Result<(), Failure> {
    let screen = &session.screen;
    let server = &*session.server;
    let mut lines = Vec::new();
    let mut row = |name: &str, value: String| {
        lines.push(format!(
            "  {}  {value}",
            screen.ink(Ink::Dim, &format!("{name:<10}"))
        ));
    };
    let name = match &server.implementation {
        Some(who) => {
            let name = who.title.as_deref().unwrap_or(&who.name);
            format!(
                "{} {}",
                screen.ink(Ink::Strong, &line(name, 80)),
                line(&who.version, 40)
            )
        }
        None => "A server that does not say who it is".to_owned(),
    };
    if let Some(who) = &server.implementation {
        if who.title.is_some() {
            row("name", line(&who.name, 80));
        }
        if let Some(description) = &who.description {
            row("about", line(description, 200));
        }
        if let Some(website) = &who.website_url {
            row("website", line(website, 200));
        }
    }
    row("address", line(session.client.address(), 200));
    let era = match server.era() {
        EraKind::Modern => "modern",
        EraKind::Legacy => "legacy",
    };
    let binding = match server.binding {
        LinkKind::Duplex => "one stream for everything",
        LinkKind::Exchange => "an HTTP exchange for each request",
    };
    row(
        "speaks",
        format!("{} ({era} era), {binding}", server.revision),
    );
    let other: Vec<_> = server
        .supported
        .iter()
        .filter(|version| *version != server.revision.as_str())
        .map(|version| line(version, 40))
        .collect();
    if !other.is_empty() {
        row("and", other.join(", "));
    }
    for (name, value) in offers(session).await? {
        row(name, value);
    }
    screen.print(&name)?;
    screen.print(&lines.join("\n"))?;
    if let Some(instructions) = &server.instructions {
        screen.print(&format!(
            "\n{}",
            screen.ink(Ink::Dim, "Instructions for models:")
        ))?;
        screen.print(&clean(instructions))?;
    }
    Ok(())
}

/// What the server declares, and how much there is of it.
async fn offers(session: &Session) -> Result<Vec<(&'static str, String)>, Failure> {
    let client = &session.client;
    let capabilities = &session.server.capabilities;
    let changes = |said: Option<bool>| match said {
        Some(true) => ", tells when they change",
        _ => "",
    };
    let mut offers = Vec::new();
    if let Some(tools) = &capabilities.tools {
        let count = client.list_tools().all().await?.len();
        offers.push(("tools", format!("{count}{}", changes(tools.list_changed))));
    }
    if let Some(resources) = &capabilities.resources {
        let count = client.list_resources().all().await?.len();
        let templates = client.list_resource_templates().all().await?.len();
        let subscribe = match resources.subscribe {
            Some(true) => ", can be subscribed to",
            _ => "",
        };
        let told = changes(resources.list_changed);
        offers.push(("resources", format!("{count}{told}{subscribe}")));
        offers.push(("templates", templates.to_string()));
    }
    if let Some(prompts) = &capabilities.prompts {
        let count = client.list_prompts().all().await?.len();
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
    others.extend(capabilities.extensions.keys().map(|id| line(id, 80)));
    let experimental = capabilities.experimental.keys();
    others.extend(experimental.map(|name| format!("{} (experimental)", line(name, 80))));
    if !others.is_empty() {
        offers.push(("also", others.join(", ")));
    }
    Ok(offers)
}
