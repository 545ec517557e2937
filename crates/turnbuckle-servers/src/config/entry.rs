//! One server entry of a configuration file, in the dialects of the common hosts.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use super::{ConfigError, Variables};

/// One server entry. Members that only other clients know are ignored.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerEntry {
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
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum EnvValue {
    Text(String),
    Number(serde_json::Number),
    Bool(bool),
}

/// A server entry with all variables expanded.
#[derive(Clone, PartialEq, Eq)]
pub enum ResolvedServer {
    /// A server that is started as a child process.
    Command {
        /// The program: a path, or a name that is looked up in `PATH`.
        program: String,
        /// The arguments.
        args: Vec<String>,
        /// The variables of its environment.
        env: BTreeMap<String, String>,
        /// A file with more variables; see [`parse_env_file`](super::parse_env_file).
        env_file: Option<String>,
        /// The directory that it runs in.
        cwd: Option<String>,
    },
    /// A server at a URL.
    Url {
        /// The URL of a server that is reached over HTTP.
        url: String,
        /// The headers of every request.
        headers: BTreeMap<String, String>,
        /// True for the HTTP+SSE transport of 2024-11-05.
        sse: bool,
    },
}

/// Shows no values of variables and headers, since they may be secrets.
impl fmt::Debug for ServerEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerEntry")
            .field("command", &self.command)
            .field("url", &self.url)
            .field("env", &self.env.keys())
            .field("headers", &self.headers.keys())
            .finish_non_exhaustive()
    }
}

/// Shows no arguments, and no values of variables and headers, since they may be secrets.
impl fmt::Debug for ResolvedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { program, env, .. } => f
                .debug_struct("Command")
                .field("program", program)
                .field("env", &env.keys())
                .finish_non_exhaustive(),
            Self::Url { url, headers, sse } => f
                .debug_struct("Url")
                .field("url", url)
                .field("headers", &headers.keys())
                .field("sse", sse)
                .finish(),
        }
    }
}

impl ServerEntry {
    /// Returns the command or the URL with which the server is reached.
    ///
    /// # Errors
    /// Returns an error if a variable cannot be expanded, the type is not supported, or the entry
    /// has neither a command nor a URL.
    pub fn resolve(&self, variables: &Variables<'_>) -> Result<ResolvedServer, ConfigError> {
        let all = |values: &BTreeMap<String, String>| {
            let expanded = values
                .iter()
                .map(|(name, value)| Ok((name.clone(), variables.expand(value)?)));
            expanded.collect::<Result<BTreeMap<_, _>, ConfigError>>()
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
            Some(other) => {
                return Err(ConfigError::new(format!(
                    "the type {other:?} is not supported"
                )));
            }
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
            (_, Some(_)) => Err(ConfigError::new("an entry of type stdio needs a command")),
            _ => Err(ConfigError::new(
                "the entry has neither a command nor a url",
            )),
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
    use super::super::ConfigFile;
    use super::*;

    fn resolve_server(text: &str, name: &str) -> Result<ResolvedServer, ConfigError> {
        let env = |name: &str| (name == "TOKEN").then(|| "t".to_owned());
        ConfigFile::parse(text)?.servers[name].resolve(&Variables::new("/p", env))
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
            let error = resolve_server(text, "a").unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
