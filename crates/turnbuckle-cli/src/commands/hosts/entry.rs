//! A server as a host's configuration file writes it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::host::Host;

/// The members of an entry, in their usual order.
pub(super) type Entry = Vec<(&'static str, Value)>;

/// A server that is added to a configuration file.
#[derive(Debug, Clone)]
pub(super) struct NewServer {
    pub(super) address: ServerAddress,
    /// Variables of the command's environment.
    pub(super) env: BTreeMap<String, String>,
}

/// The command or the URL of a server.
#[derive(Debug, Clone)]
pub(super) enum ServerAddress {
    /// A command with its arguments.
    Command { program: String, args: Vec<String> },
    /// A URL with headers for every request.
    Url {
        url: String,
        headers: BTreeMap<String, String>,
        /// True for the HTTP+SSE transport of 2024-11-05.
        is_sse: bool,
    },
}

impl NewServer {
    /// Returns whether the host reaches the server itself. For others `bridge` stands between.
    pub(super) fn is_direct(&self, host: Host) -> bool {
        match (&self.address, host) {
            (ServerAddress::Command { .. }, _) => true,
            (ServerAddress::Url { .. }, Host::ClaudeDesktop) => false,
            (ServerAddress::Url { is_sse, .. }, Host::Codex) => !is_sse,
            (ServerAddress::Url { .. }, _) => true,
        }
    }

    /// Replaces a URL by the command that serves it on standard streams. Headers go through the environment,
    /// since other users can read the arguments of a process. `tool` is the path of this program.
    pub(super) fn use_bridge(self, tool: &str) -> Self {
        let ServerAddress::Url { url, headers, .. } = self.address else {
            return self;
        };
        let mut args = vec!["bridge".to_owned(), url, "--stdio".to_owned()];
        let mut env = self.env;
        for (number, (name, value)) in (1..).zip(headers) {
            let variable = format!("TURNBUCKLE_HEADER_{number}");
            args.push("--header-env".to_owned());
            args.push(format!("{name}={variable}"));
            env.insert(variable, value);
        }
        Self {
            address: ServerAddress::Command {
                program: tool.to_owned(),
                args,
            },
            env,
        }
    }

    /// Returns the entry as the host reads it.
    pub(super) fn to_entry(&self, host: Host) -> Entry {
        let mut entry = Entry::new();
        let names_type = matches!(host, Host::VsCode | Host::ClaudeCode);
        match &self.address {
            ServerAddress::Command { program, args } => {
                if names_type {
                    entry.push(("type", "stdio".into()));
                }
                entry.push(("command", json!(program)));
                entry.push(("args", json!(args)));
                if !self.env.is_empty() {
                    entry.push(("env", json!(self.env)));
                }
            }
            ServerAddress::Url {
                url,
                headers,
                is_sse,
            } => {
                if names_type {
                    let kind = if *is_sse { "sse" } else { "http" };
                    entry.push(("type", kind.into()));
                }
                let member = match host {
                    Host::Windsurf => "serverUrl",
                    Host::Gemini if !is_sse => "httpUrl",
                    _ => "url",
                };
                entry.push((member, json!(url)));
                let member = match host {
                    Host::Codex => "http_headers",
                    _ => "headers",
                };
                if !headers.is_empty() {
                    entry.push((member, json!(headers)));
                }
            }
        }
        entry
    }
}
