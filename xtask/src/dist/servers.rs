//! Servers of the tool that the released one is tried with, and messages for them.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::process::run as run_to_end;

/// A server of the tool, and a call of one of its tools.
pub(super) struct Server {
    pub(super) name: &'static str,
    arguments: Vec<String>,
    pub(super) call: Value,
}

impl Server {
    /// Returns the command that serves it on standard input and output.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.args(["serve", self.name, "--stdio"]);
        command.args(&self.arguments);
        command
    }
}

/// Returns the servers, with what they need in a folder.
pub(super) fn list_servers(folder: &Path) -> Result<[Server; 6], String> {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (own, repository) = (path(""), path("repository"));
    fs::create_dir_all(folder).map_err(|error| format!("{own}: {error}"))?;
    run_to_end(Command::new("git").args(["init", "--quiet", &repository]))?;
    let server = |name, arguments, tool, parameters: Value| Server {
        name,
        arguments,
        call: json!({ "name": tool, "arguments": parameters }),
    };
    let (zone, listed) = (json!({ "timezone": "UTC" }), json!({ "path": own }));
    let status = json!({ "repo_path": repository });
    let thought = json!({ "thought": "a", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 });
    Ok([
        server("time", vec![], "get_current_time", zone),
        server("filesystem", vec![own], "list_directory", listed),
        server("git", vec![repository], "git_status", status),
        server("memory", vec![path("graph.jsonl")], "read_graph", json!({})),
        server("sequential-thinking", vec![], "sequentialthinking", thought),
        server("sqlite", vec![path("database")], "list_tables", json!({})),
    ])
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(super) fn initialize() -> Value {
    let client = json!({ "name": "measure", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    request(0, "initialize", &params)
}

pub(super) fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}
