//! The configuration file `mcp.json`.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use turnbuckle::http::HttpConnector;
use turnbuckle::session::Connector;
use turnbuckle::stdio::{Command, StderrMode};

/// The maximum size of the file, in bytes.
const MAX_FILE: u64 = 1 << 20;

#[derive(Deserialize)]
struct ConfigFile {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, ServerEntry>,
}

/// The configuration of one server. Unknown members are ignored. So is `type`, because the
/// transport of a URL is detected.
#[derive(Deserialize)]
pub(crate) struct ServerEntry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// Reads the configuration and returns the servers by name.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, ServerEntry>, String> {
    let describe_error = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let size = fs::metadata(path)
        .map_err(|error| describe_error(&error))?
        .len();
    if size > MAX_FILE {
        return Err(describe_error(&format_args!(
            "the file has more than {MAX_FILE} bytes"
        )));
    }
    let text = fs::read_to_string(path).map_err(|error| describe_error(&error))?;
    let file: ConfigFile = serde_json::from_str(&text).map_err(|error| describe_error(&error))?;
    if let Some(name) = file.servers.keys().find(|name| !is_server_name(name)) {
        return Err(describe_error(&format_args!(
            "{name:?} is not a valid name of a server: a name is not empty and has no spaces"
        )));
    }
    Ok(file.servers)
}

/// Returns whether a user can type this name in a command.
fn is_server_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace)
}

impl ServerEntry {
    /// Returns the connector of the server.
    pub(crate) fn connector(self) -> Result<Arc<dyn Connector>, String> {
        match (&self.command, &self.url) {
            (Some(program), None) => {
                let mut command = Command::new(expand(program)?).stderr(StderrMode::Capture(4096));
                for arg in &self.args {
                    command = command.arg(expand(arg)?);
                }
                for (name, value) in &self.env {
                    command = command.env(name, expand(value)?);
                }
                if let Some(directory) = &self.cwd {
                    command = command.current_dir(directory);
                }
                Ok(Arc::new(command))
            }
            (None, Some(url)) => {
                let mut connector = HttpConnector::new(&expand(url)?).map_err(error_text)?;
                for (name, value) in &self.headers {
                    connector = connector
                        .header(name, &expand(value)?)
                        .map_err(error_text)?;
                }
                Ok(Arc::new(connector))
            }
            (Some(_), Some(_)) => Err("the server has both a command and a url".to_owned()),
            (None, None) => Err("the server has neither a command nor a url".to_owned()),
        }
    }
}

fn error_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Replaces `${NAME}` and `${NAME:-default}` by environment variables.
///
/// # Errors
/// If a variable is not set and has no default.
fn expand(text: &str) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, after) = after
            .split_once('}')
            .ok_or_else(|| format!("\"${{\" without \"}}\" in {text:?}"))?;
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let value = env::var(name).ok().or(default.map(ToOwned::to_owned));
        let value = value.ok_or_else(|| format!("the environment variable {name} is not set"))?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}
