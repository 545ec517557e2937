//! The `servers` command: lists the servers of the configuration files.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use turnbuckle_inspector::api::TransportKind;

use super::inspect::names::{address_of, transport_of};
use crate::args::{Format, OutputArgs, ServerArgs};
use crate::authorization::UserStore;
use crate::connection::{CatalogueEntry, list_catalogue};
use crate::error::CliError;
use crate::observe::KnownSecrets;
use crate::output::{Console, Style, sanitize_line};

/// The most characters of an address, a path or a reason that are shown.
const MAX_SHOWN_CHARS: usize = 300;

/// Options of `servers`.
#[derive(Args)]
pub(crate) struct Options {
    /// List the servers of this file (mcpServers or servers) instead of looking for files
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A server as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedServer {
    name: String,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<TransportKind>,
    /// The URL without its query, or the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// True if a verb uses the server without asking.
    is_agreed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

impl From<CatalogueEntry> for ListedServer {
    fn from(entry: CatalogueEntry) -> Self {
        let target = entry.target.as_ref().ok();
        Self {
            transport: target.map(transport_of),
            address: target.map(address_of),
            is_agreed: entry.consent.is_none_or(|consent| consent.is_given),
            name: entry.name,
            file: entry.file.to_string_lossy().into_owned(),
            fault: entry.target.err(),
        }
    }
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> Result<(), CliError> {
    let console = Console::new(&options.output);
    let server_args = ServerArgs {
        config: options.config,
        ..ServerArgs::default()
    };
    let store = UserStore::new(KnownSecrets::default());
    let entries = list_catalogue(&server_args, &store).await?;
    let servers: Vec<ListedServer> = entries.into_iter().map(Into::into).collect();
    match console.args.output {
        Format::Json => console.print_json(&serde_json::to_string(&servers)?),
        Format::Ndjson => {
            let mut servers = servers.iter();
            servers.try_for_each(|server| console.print_json(&serde_json::to_string(server)?))
        }
        Format::Text if servers.is_empty() => {
            console.print_note("no .mcp.json, mcp.json or .vscode/mcp.json has a server");
            Ok(())
        }
        Format::Text => print_text(&console, &servers),
    }
}

/// Prints the servers, below the file that has them.
fn print_text(console: &Console, servers: &[ListedServer]) -> Result<(), CliError> {
    let shown = |text: &str| sanitize_line(text, MAX_SHOWN_CHARS);
    let mut file = "";
    for server in servers {
        if server.file != file {
            file = &server.file;
            console.print(&console.style(Style::Heading, &shown(file)))?;
        }
        let name = console.style(Style::Strong, &shown(&server.name));
        let about = match (&server.address, &server.fault) {
            (Some(address), None) => shown(address),
            (_, fault) => {
                let fault = fault.as_deref().unwrap_or_default();
                console.style(Style::Warning, &shown(fault))
            }
        };
        let consent = match server.is_agreed || server.fault.is_some() {
            true => "",
            false => "  (asks before its first use)",
        };
        console.print(&format!(
            "  {name}  {about}{}",
            console.style(Style::Dim, consent)
        ))?;
    }
    Ok(())
}
