//! The servers that an `mcp.json` names.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use turnbuckle::http::HttpConnector;
use turnbuckle::session::Connector;
use turnbuckle::stdio::{Command, StderrMode};

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

#[derive(Deserialize)]
struct File {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, Entry>,
}

/// One server, as it is written. What is not known here is left to whom it is for; so is a `type`,
/// for what a URL speaks is found out.
#[derive(Deserialize)]
pub(crate) struct Entry {
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

/// Reads the file.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, Entry>, String> {
    let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let size = fs::metadata(path).map_err(|error| fault(&error))?.len();
    if size > MAX_FILE {
        return Err(fault(&format_args!("it has more than {MAX_FILE} bytes")));
    }
    let text = fs::read_to_string(path).map_err(|error| fault(&error))?;
    let file: File = serde_json::from_str(&text).map_err(|error| fault(&error))?;
    if let Some(name) = file.servers.keys().find(|name| !is_name(name)) {
        return Err(fault(&format_args!(
            "{name:?} cannot be typed as the name of a server: it is empty, or has a space in it"
        )));
    }
    Ok(file.servers)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace)
}

impl Entry {
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
                let mut connector = HttpConnector::new(&expand(url)?).map_err(told)?;
                for (name, value) in &self.headers {
                    connector = connector.header(name, &expand(value)?).map_err(told)?;
                }
                Ok(Arc::new(connector))
            }
            (Some(_), Some(_)) => Err("it has both a command and a url".to_owned()),
            (None, None) => Err("it has neither a command nor a url".to_owned()),
        }
    }
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Puts `${NAME}` and `${NAME:-default}` in place, from the environment. What is not set is named.
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
        let value = value.ok_or_else(|| format!("the variable {name} is not set"))?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}
