//! The servers of one file, in the dialects that clients write.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::expand::Variables;
use super::jsonc;

/// A file as it is written.
#[derive(Deserialize)]
struct File {
    #[serde(rename = "mcpServers")]
    mcp_servers: Option<BTreeMap<String, Entry>>,
    servers: Option<BTreeMap<String, Entry>>,
}

/// One server as it is written; what is not known here is left to whom it is for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    #[serde(rename = "type", alias = "transport")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, Option<Plain>>,
    env_file: Option<String>,
    cwd: Option<String>,
    #[serde(alias = "serverUrl", alias = "httpUrl")]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// A value that becomes text: people write numbers and truth values without quotes.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Plain {
    Text(String),
    Number(serde_json::Number),
    Bool(bool),
}

/// How a server is reached, with every variable in place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// By running a command.
    Command {
        program: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        env_file: Option<String>,
        cwd: Option<String>,
    },
    /// At a URL; over the HTTP+SSE of the first revision if so said.
    Url {
        url: String,
        headers: BTreeMap<String, String>,
        sse: bool,
    },
}

/// The servers that the text of a file names.
pub(super) fn parse(text: &str) -> Result<BTreeMap<String, Entry>, String> {
    let file: File =
        serde_json::from_str(&jsonc::plain(text)).map_err(|error| error.to_string())?;
    match (file.mcp_servers, file.servers) {
        (Some(mut servers), Some(more)) => {
            servers.extend(more);
            Ok(servers)
        }
        (Some(servers), None) | (None, Some(servers)) => Ok(servers),
        (None, None) => Err("it has neither mcpServers nor servers".to_owned()),
    }
}

impl Entry {
    /// How the server is reached.
    pub(crate) fn reached(&self, variables: &Variables<'_>) -> Result<Reached, String> {
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
            Some(other) => return Err(format!("its type {other:?} is not known here")),
        };
        let local = matches!(self.kind.as_deref(), Some("stdio" | "local"));
        match (&self.command, &self.url) {
            (Some(command), url) if local || url.is_none() => Ok(Reached::Command {
                program: variables.expand(command)?,
                args: self
                    .args
                    .iter()
                    .map(|arg| variables.expand(arg))
                    .collect::<Result<_, _>>()?,
                env: all(&self.plain_env())?,
                env_file: maybe(&self.env_file)?,
                cwd: maybe(&self.cwd)?,
            }),
            (_, Some(url)) if !local => Ok(Reached::Url {
                url: variables.expand(url)?,
                headers: all(&self.headers)?,
                sse,
            }),
            (_, Some(_)) => Err("it is of type stdio and has no command".to_owned()),
            _ => Err("it has neither a command nor a url".to_owned()),
        }
    }

    fn plain_env(&self) -> BTreeMap<String, String> {
        let texts = self.env.iter().filter_map(|(name, value)| {
            let text = match value.as_ref()? {
                Plain::Text(text) => text.clone(),
                Plain::Number(number) => number.to_string(),
                Plain::Bool(value) => value.to_string(),
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

    fn reached(text: &str, name: &str) -> Result<Reached, String> {
        let env = |name: &str| (name == "TOKEN").then(|| "t".to_owned());
        let variables = Variables {
            env: &env,
            workspace: Path::new("/p"),
        };
        parse(text)?[name].reached(&variables)
    }

    #[test]
    fn every_dialect_is_read() {
        let claude = r#"{"mcpServers": {"a": {"command": "node", "args": ["x", "${workspaceFolder}"],
            "env": {"T": "${TOKEN}", "PORT": 1, "NO": null}, "cwd": "/c", "unknown": 1,},}}"#;
        assert_eq!(
            reached(claude, "a"),
            Ok(Reached::Command {
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
                reached(&code, "b"),
                Ok(Reached::Url {
                    url: "https://x/mcp".into(),
                    headers: [("Authorization".into(), "Bearer t".into())].into(),
                    sse: kind == "sse",
                })
            );
        }
        let windsurf = r#"{"mcpServers": {"c": {"serverUrl": "https://y/sse"}}}"#;
        assert!(matches!(
            reached(windsurf, "c"),
            Ok(Reached::Url { sse: false, .. })
        ));
    }

    #[test]
    fn what_cannot_be_reached_says_why() {
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
            let error = reached(text, "a").unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
