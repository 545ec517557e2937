//! A configuration file: reading it, and the directory that its paths start at.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use turnbuckle_types::base::mismatch::describe_without_value;

use super::{ConfigError, ServerEntry, jsonc};

/// The largest configuration file, in bytes.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

/// The members of a configuration file that are read.
#[derive(Deserialize)]
struct Members {
    #[serde(rename = "mcpServers")]
    mcp_servers: Option<BTreeMap<String, ServerEntry>>,
    servers: Option<BTreeMap<String, ServerEntry>>,
}

/// The server entries of a configuration file.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ConfigFile {
    /// The entries by the names of the servers.
    pub servers: BTreeMap<String, ServerEntry>,
}

impl ConfigFile {
    /// Parses the text of a configuration file: JSON with comments and trailing commas.
    ///
    /// # Errors
    /// Returns an error if the text is larger than [`MAX_FILE_BYTES`], is no such JSON, or has
    /// neither `mcpServers` nor `servers`.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(too_large());
        }
        let members: Members = serde_json::from_str(&jsonc::to_json(text))
            .map_err(|error| ConfigError::new(describe(&error)))?;
        let servers = match (members.mcp_servers, members.servers) {
            (Some(mut servers), Some(more)) => {
                servers.extend(more);
                servers
            }
            (Some(servers), None) | (None, Some(servers)) => servers,
            (None, None) => {
                return Err(ConfigError::new(
                    "the file has neither mcpServers nor servers",
                ));
            }
        };
        Ok(Self { servers })
    }

    /// Reads and parses a configuration file.
    ///
    /// # Errors
    /// Returns an error that names the file if it cannot be read or [parsed](Self::parse).
    pub fn read(file: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let file = file.as_ref();
        let text = read_bounded(file)?;
        Self::parse(&text).map_err(|error| error_in(file, &error))
    }
}

/// Returns the text of an error with its place. It never has a value of the file, which may be a secret.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match describe_without_value(&text) {
        Some(reason) => format!("line {} column {}: {reason}", error.line(), error.column()),
        None => text,
    }
}

/// Reads a text file of at most [`MAX_FILE_BYTES`].
pub(super) fn read_bounded(file: &Path) -> Result<String, ConfigError> {
    let mut bytes = Vec::new();
    let read =
        File::open(file).and_then(|opened| opened.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| error_in(file, &error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(error_in(file, &too_large()));
    }
    String::from_utf8(bytes).map_err(|_| error_in(file, &"it is not UTF-8"))
}

/// Returns the error of a file.
pub(super) fn error_in(file: &Path, reason: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::new(format!("{}: {reason}", file.display()))
}

fn too_large() -> ConfigError {
    ConfigError::new(format!(
        "larger than {MAX_FILE_BYTES} bytes (config::MAX_FILE_BYTES)"
    ))
}

/// Returns the project directory of a configuration file: the directory that has the file, or the
/// parent of the directory `.vscode`. Relative paths in the file start there.
#[must_use]
pub fn workspace_of(file: &Path) -> PathBuf {
    let directory = file.parent().unwrap_or(Path::new("."));
    let project = match directory.ends_with(".vscode") {
        true => directory.parent().unwrap_or(directory),
        false => directory,
    };
    let project = match project.as_os_str().is_empty() {
        true => Path::new("."),
        false => project,
    };
    std::path::absolute(project).unwrap_or_else(|_| project.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_of_a_file_is_its_directory_or_the_parent_of_vscode() {
        let workspace = |file: &str| workspace_of(Path::new(file));
        assert_eq!(workspace("/p/mcp.json"), Path::new("/p"));
        assert_eq!(workspace("/p/.vscode/mcp.json"), Path::new("/p"));
        let here = std::path::absolute(".").unwrap();
        assert_eq!(workspace("mcp.json"), here);
        assert_eq!(workspace(".vscode/mcp.json"), here);
    }

    #[test]
    fn an_error_never_has_a_value() {
        for entry in [
            r#"{"command": "x", "env": "TOKEN=hunter2"}"#,
            r#"{"url": "https://x", "headers": "Authorization: hunter2"}"#,
            r#"{"url": ["hunter2"]}"#,
        ] {
            let error = ConfigFile::parse(&format!("{{\"mcpServers\": {{\n\"a\": {entry}}}}}"));
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with("line 2 column "), "{error}");
            assert!(
                error.contains("expected a") && !error.contains("hunter2"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_text_over_the_limit_is_refused() {
        let text = format!("{{\"servers\": {{}}}}{}", " ".repeat(4 << 20));
        let error = ConfigFile::parse(&text).unwrap_err().to_string();
        assert!(error.contains("MAX_FILE_BYTES"), "{error}");
    }
}
