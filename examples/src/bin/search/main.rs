//! Searches several servers at once: calls the tool `search` of each server of an `mcp.json` that has
//! one. It shows a client of many servers, of which some may be down.
//!
//! Run it with `cargo run -p turnbuckle-examples --bin search -- mcp.json WORDS`.
//!
//! ```text
//! search mcp.json "green tea"      searches notes, files and tickets, if the file names such servers
//! ```

use std::io::{Write, stdout};
use std::path::PathBuf;

use clap::Parser;
use serde_json::json;
use tokio::task::JoinSet;
use turnbuckle::servers::Servers;

/// Searches the servers of an mcp.json.
#[derive(Parser)]
struct Options {
    /// The file that names the servers.
    config: PathBuf,
    /// The text to search for.
    text: String,
}

#[tokio::main]
async fn main() -> turnbuckle::Result {
    let options = Options::parse();
    let servers = Servers::builder("search", env!("CARGO_PKG_VERSION"))
        .config_file(&options.config)?
        .connect()
        .await?;
    for status in servers.status() {
        if !status.is_ready() {
            eprintln!("{status}");
        }
    }
    // All servers search at the same time.
    let mut searches = JoinSet::new();
    for tool in servers.tools() {
        if &*tool.own_name == "search" {
            let search = servers.call_tool(&tool.item.name, &json!({ "text": options.text }));
            searches.spawn(async move { (tool.server, search.await) });
        }
    }
    for (server, found) in searches.join_all().await {
        match found {
            Ok(found) => writeln!(stdout(), "{server}: {}", found.text())?,
            Err(error) => eprintln!("{error}"),
        }
    }
    servers.close().await;
    Ok(())
}
