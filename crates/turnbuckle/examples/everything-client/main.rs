//! A client that uses everything that a server offers: it fetches the lists, calls every tool,
//! reads every resource and gets every prompt, and answers the questions of the server. Run it with
//! `cargo run -p turnbuckle --example everything-client -- URL`.
//!
//! Three environment variables of the official conformance suite change what it does:
//! `MCP_CONFORMANCE_PROTOCOL_VERSION` (the revision to speak), `MCP_CONFORMANCE_SCENARIO` (the name
//! of the scenario) and `MCP_CONFORMANCE_CONTEXT` (JSON; its `toolCalls` replace the example
//! arguments).
#![allow(
    clippy::print_stdout,
    reason = "the program reports on standard output"
)]

mod answers;
mod arguments;
mod login;
mod tour;

use std::env;
use std::error::Error;
use std::process::ExitCode;

use turnbuckle::client::EraPreference;
use turnbuckle::http::HttpConnector;
use turnbuckle::{Client, ClientBuilder};
use turnbuckle::{EraKind, Revision};

#[tokio::main]
async fn main() -> ExitCode {
    let Some(url) = env::args().nth(1) else {
        eprintln!("usage: everything-client URL");
        return ExitCode::from(2);
    };
    match run(&url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("everything-client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(url: &str) -> Result<(), Box<dyn Error>> {
    let connector = HttpConnector::new(url)?.layer(login::authorization(url)?);
    let client = builder().connect(connector).await?;
    let calls = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(context) => serde_json::from_str::<arguments::Context>(&context)?.tool_calls,
        Err(_) => Vec::new(),
    };
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let toured = tour::run(&client, calls, &scenario).await;
    client.close().await;
    Ok(toured?)
}

fn builder() -> ClientBuilder {
    let builder = Client::builder("everything-client", env!("CARGO_PKG_VERSION")).era(era());
    answers::install(builder)
}

/// Returns the era to speak. A legacy revision is offered, and servers negotiate down.
fn era() -> EraPreference {
    // The suite names 2025-11-25 for scenarios of extensions, and skills exist since 2026-07-28.
    if env::var("MCP_CONFORMANCE_SCENARIO").is_ok_and(|scenario| scenario.starts_with("sep-2640-"))
    {
        return EraPreference::Modern;
    }
    let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").ok();
    match version.as_deref().and_then(Revision::parse) {
        Some(revision) if revision.features().era == EraKind::Modern => EraPreference::Modern,
        Some(_) => EraPreference::Legacy,
        None => EraPreference::Auto,
    }
}
