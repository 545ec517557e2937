//! The server entries of a configuration file, in the dialects of the common clients.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::expand::Variables;
use super::jsonc;

/// A configuration file. Claude, Cursor and others write `mcpServers`; VS Code writes `servers`.
#[derive(Deserialize)]
struct ConfigFile {
    #[serde(rename = "mcpServers")]
    mcp_servers: Option<BTreeMap<String, ServerEntry>>,
    servers: Option<BTreeMap<String, ServerEntry>>,
}

/// One server entry. Members that only other clients know are ignored.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerEntry {
    #[serde(rename = "type", alias = "transport")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, Option<EnvValue>>,
    env_file: Option<String>,
    cwd: Option<String>,
    #[serde(alias = "serverUrl", alias = "httpUrl")]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// A value of `env`. People also write numbers and booleans without quotes.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum EnvValue {
    Text(String),
    Number(serde_json::Number),
    Bool(bool),
}

/// A server entry with all variables expanded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ResolvedServer {
    /// A server that is started as a child process.
    Command {
        program: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        env_file: Option<String>,
        cwd: Option<String>,
    },
    /// A server at a URL. `sse` is true for the HTTP+SSE transport of 2024-11-05.
    Url {
        url: String,
        headers: BTreeMap<String, String>,
        sse: bool,
    },
}

/// Parses the text of a configuration file and returns its server entries by name.
pub(super) fn parse_servers(text: &str) -> Result<BTreeMap<String, ServerEntry>, String> {
    let file: ConfigFile =
        serde_json::from_str(&jsonc::to_json(text)).map_err(|error| error.to_string())?;
    match (file.mcp_servers, file.servers) {
        (Some(mut servers), Some(more)) => {
            servers.extend(more);
            Ok(servers)
        }
        (Some(servers), None) | (None, Some(servers)) => Ok(servers),
        (None, None) => Err("the file has neither mcpServers nor servers".to_owned()),
    }
}

impl ServerEntry {
    /// Returns the command or the URL with which the server is reached.
    pub(crate) fn resolve(&self, variables: &Variables<'_>) -> Result<ResolvedServer, String> {
        let all = |values: &BTreeMap<String, String>| {
            let expanded = values
                .iter()
                .map(|(name, value)| Ok((name.clone(), variables.expand(value)?)));
            expanded.collect::<Result<BTreeMap<_, _>, String>>()
        };
        let maybe = |value: &Option<String>| {
            value
                .as_deref()
                .map(|value| variables.expand(value))
                .transpose()
        };
        let sse = match self.kind.as_deref() {
            None
            | Some("stdio" | "local" | "http" | "streamable-http" | "streamableHttp" | "remote") => {
                false
            }
            Some("sse") => true,
            Some(other) => return Err(format!("the type {other:?} is not supported")),
        };
        let local = matches!(self.kind.as_deref(), Some("stdio" | "local"));
        match (&self.command, &self.url) {
            (Some(command), url) if local || url.is_none() => Ok(ResolvedServer::Command {
                program: variables.expand(command)?,
                args: self
                    .args
                    .iter()
                    .map(|arg| variables.expand(arg))
                    .collect::<Result<_, _>>()?,
                env: all(&self.env_texts())?,
                env_file: maybe(&self.env_file)?,
                cwd: maybe(&self.cwd)?,
            }),
            (_, Some(url)) if !local => Ok(ResolvedServer::Url {
                url: variables.expand(url)?,
                headers: all(&self.headers)?,
                sse,
            }),
            (_, Some(_)) => Err("an entry of type stdio needs a command".to_owned()),
            _ => Err("the entry has neither a command nor a url".to_owned()),
        }
    }

    /// Returns the environment variables of the entry as text. Null values are left out.
    fn env_texts(&self) -> BTreeMap<String, String> {
        let texts = self.env.iter().filter_map(|(name, value)| {
            let text = match value.as_ref()? {
                EnvValue::Text(text) => text.clone(),
                EnvValue::Number(number) => number.to_string(),
                EnvValue::Bool(value) => value.to_string(),
            };
            Some((name.clone(), text))
        });
        texts.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn resolve_server(text: &str, name: &str) -> Result<ResolvedServer, String> {
        let env = |name: &str| (name == "TOKEN").then(|| "t".to_owned());
        let variables = Variables {
            env: &env,
            workspace: Path::new("/p"),
        };
        parse_servers(text)?[name].resolve(&variables)
    }

    #[test]
    fn every_dialect_is_understood() {
        let claude = r#"{"mcpServers": {"a": {"command": "node", "args": ["x", "${workspaceFolder}"],
            "env": {"T": "${TOKEN}", "PORT": 1, "NO": null}, "cwd": "/c", "unknown": 1,},}}"#;
        assert_eq!(
            resolve_server(claude, "a"),
            Ok(ResolvedServer::Command {
                program: "node".into(),
                args: vec!["x".into(), "/p".into()],
                env: [("PORT".into(), "1".into()), ("T".into(), "t".into())].into(),
                env_file: None,
                cwd: Some("/c".into()),
            })
        );
        for kind in ["http", "streamable-http", "streamableHttp", "sse"] {
            let code = format!(
                r#"{{"inputs": [], "servers": {{"b": {{"type": "{kind}", "url": "https://x/mcp",
                    "headers": {{"Authorization": "Bearer ${{env:TOKEN}}"}}}}}}}}"#
            );
            assert_eq!(
                resolve_server(&code, "b"),
                Ok(ResolvedServer::Url {
                    url: "https://x/mcp".into(),
                    headers: [("Authorization".into(), "Bearer t".into())].into(),
                    sse: kind == "sse",
                })
            );
        }
        let windsurf = r#"{"mcpServers": {"c": {"serverUrl": "https://y/sse"}}}"#;
        assert!(matches!(
            resolve_server(windsurf, "c"),
            Ok(ResolvedServer::Url { sse: false, .. })
        ));
    }

    #[test]
    fn an_error_says_why_an_entry_is_unusable() {
        for (text, why) in [
            (r#"{"mcpServers": {"a": {}}}"#, "neither"),
            (r#"{"mcpServers": {"a": {"type": "ws", "url": "x"}}}"#, "ws"),
            (
                r#"{"mcpServers": {"a": {"type": "stdio", "url": "x"}}}"#,
                "stdio",
            ),
            (
                r#"{"servers": {"a": {"command": "x", "args": ["${input:key}"]}}}"#,
                "key",
            ),
            (r#"{"other": 1}"#, "mcpServers"),
            ("{", "EOF"),
        ] {
            let error = resolve_server(text, "a").unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
