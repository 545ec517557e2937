//! Resolution of the server that a command line names.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::path::PathBuf;

use turnbuckle::servers::config::{ResolvedServer, Variables};
use turnbuckle_types::base::host::is_loopback;
use turnbuckle_types::base::secrets::url_without_query;

use super::config::{ConfiguredServer, find_server};
use crate::args::ServerArgs;
use crate::error::CliError;
use crate::output::shell_quote;

/// The positional arguments after the subcommand.
pub(crate) struct PositionalArgs {
    remaining: VecDeque<String>,
    /// True if a server command follows after `--`.
    before_command: bool,
}

impl PositionalArgs {
    pub(crate) fn new(words: Vec<String>) -> Self {
        Self {
            remaining: words.into(),
            before_command: false,
        }
    }

    /// Takes the next argument, if there is one.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.remaining.pop_front()
    }

    /// Takes the next argument. `what` names it in the error.
    pub(crate) fn require(&mut self, what: &str) -> Result<String, CliError> {
        let hint = if self.before_command {
            "put it before `--`: the words after that start the server"
        } else {
            "see `--help`"
        };
        self.next()
            .ok_or_else(|| CliError::usage(format!("{what} is missing")).hint(hint))
    }

    /// Returns all remaining arguments.
    pub(crate) fn into_rest(self) -> Vec<String> {
        self.remaining.into()
    }

    /// Fails if arguments are left.
    pub(crate) fn expect_end(mut self) -> Result<(), CliError> {
        match self.next() {
            None => Ok(()),
            Some(word) => {
                Err(CliError::usage(format!("unexpected argument {word:?}")).hint("see `--help`"))
            }
        }
    }
}

/// The server to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Url {
        url: String,
        headers: BTreeMap<String, String>,
        /// True if the server is known to speak HTTP+SSE.
        sse: bool,
        /// The entry of a configuration file that has the URL.
        entry: Option<ConfigEntry>,
    },
    Command {
        program: OsString,
        args: Vec<OsString>,
        env: BTreeMap<String, String>,
        env_file: Option<PathBuf>,
        cwd: Option<PathBuf>,
        /// The entry of a configuration file that has the command. It is shown before it runs.
        entry: Option<ConfigEntry>,
    },
}

/// The entry of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigEntry {
    pub(crate) file: PathBuf,
    pub(crate) name: String,
    /// True if the tool found the file: the user did not name it with `--config`.
    pub(crate) found: bool,
    /// The files that were not used before it, each with the reason.
    pub(crate) skipped: Vec<String>,
}

impl Target {
    /// Resolves the target from `command`, which stood after `--`, from `--server`, or from the first
    /// positional argument.
    pub(crate) fn resolve(
        server_args: &ServerArgs,
        command: &[OsString],
        words: &mut PositionalArgs,
    ) -> Result<Self, CliError> {
        if let [program, args @ ..] = command {
            words.before_command = true;
            return Ok(Self::Command {
                program: program.clone(),
                args: args.to_vec(),
                env: BTreeMap::new(),
                env_file: None,
                cwd: None,
                entry: None,
            });
        }
        if let Some(name) = &server_args.server {
            return Self::from_config(name, server_args)?.map_err(|missing| missing.to_error(name));
        }
        let word = words.next().ok_or_else(|| {
            CliError::usage("no server was given")
                .hint("give a URL, a name from a file, or `-- COMMAND ARGS`")
        })?;
        if is_url(&word) {
            return Ok(Self::from_url(word));
        }
        // A file that was found must not decide where a host leads.
        if server_args.config.is_none() && is_host(&word) {
            let scheme = if is_local(&word) { "http" } else { "https" };
            return Ok(Self::from_url(format!("{scheme}://{word}")));
        }
        Self::from_config(&word, server_args)?.map_err(|missing| missing.to_error(&word))
    }

    /// Returns the words that name the server on a command line, if it has a URL. A query is left out:
    /// it can hold a key, and what is printed is kept by terminals and logs.
    pub(crate) fn words(&self, server_args: &ServerArgs) -> Option<String> {
        let Self::Url { url, entry, .. } = self else {
            return None;
        };
        let Some(ConfigEntry { name, .. }) = entry else {
            return Some(shell_quote([&*url_without_query(url)]));
        };
        Some(match &server_args.config {
            Some(file) => shell_quote(["--config", &*file.to_string_lossy(), name]),
            None => shell_quote([&**name]),
        })
    }

    fn from_url(url: String) -> Self {
        Self::Url {
            url,
            headers: BTreeMap::new(),
            sse: false,
            entry: None,
        }
    }

    fn from_config(
        name: &str,
        server_args: &ServerArgs,
    ) -> Result<Result<Self, super::config::ServerNotFound>, CliError> {
        match find_server(name, server_args.config.as_deref())? {
            Ok(found) => Self::from_configured(found, server_args).map(Ok),
            Err(missing) => Ok(Err(missing)),
        }
    }

    /// Resolves a server of a configuration file.
    pub(super) fn from_configured(
        found: ConfiguredServer,
        server_args: &ServerArgs,
    ) -> Result<Self, CliError> {
        let workspace = found.workspace();
        let variables = Variables::from_env(&workspace);
        let reached = found.entry.resolve(&variables).map_err(|why| {
            CliError::usage(format!(
                "{:?} in {}: {why}",
                found.name,
                found.file.display()
            ))
        })?;
        let entry = Some(ConfigEntry {
            file: found.file,
            name: found.name,
            found: server_args.config.is_none(),
            skipped: found.skipped,
        });
        Ok(match reached {
            ResolvedServer::Url { url, headers, sse } => Self::Url {
                url,
                headers,
                sse,
                entry,
            },
            ResolvedServer::Command {
                program,
                args,
                env,
                env_file,
                cwd,
            } => Self::Command {
                program: program.into(),
                args: args.into_iter().map(OsString::from).collect(),
                env,
                // Relative paths in a file start at its project.
                env_file: env_file.map(|file| workspace.join(file)),
                cwd: cwd.map(|directory| workspace.join(directory)),
                entry,
            },
        })
    }
}

/// Returns whether a word looks like a URL. Whether it is one, and how it is read, the parser of URLs
/// decides: it also reads `http:/host`, and ignores the tabs and spaces around.
fn is_url(word: &str) -> bool {
    let word = word.trim_start().as_bytes();
    let begins_with = |scheme: &str| {
        word.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    };
    begins_with("http:")
        || begins_with("https:")
        || word.starts_with(b"unix:")
        || word.windows(3).any(|part| part == b"://")
}

/// Returns whether a word looks like a URL without its scheme.
fn is_host(word: &str) -> bool {
    let host = word.split(['/', '?']).next().unwrap_or_default();
    is_local(word)
        || (!host.is_empty() && host.contains('.') && !host.starts_with('.'))
        || has_port(host)
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(name, port)| {
        !name.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns whether a URL without its scheme leads to this machine.
pub(crate) fn is_local(word: &str) -> bool {
    let host = word.split(['/', '?']).next().unwrap_or_default();
    let name = if host.starts_with('[') {
        host.split_inclusive(']').next().unwrap_or_default()
    } else {
        host.split(':').next().unwrap_or_default()
    };
    is_loopback(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_for_a_url_leave_its_query_out() {
        let words = |url: &str| Target::from_url(url.to_owned()).words(&ServerArgs::default());
        assert_eq!(words("https://a/mcp?key=k").unwrap(), "'https://a/mcp?…'");
        assert_eq!(words("https://a/mcp").unwrap(), "https://a/mcp");
    }

    #[test]
    fn hosts_are_distinguished_from_names() {
        for host in [
            "localhost",
            "localhost:3000/mcp",
            "127.0.0.1:1",
            "[::1]:80/x",
            "[0:0:0:0:0:0:0:1]:80/x",
            "[::ffff:127.0.0.1]",
            "LOCALHOST.:80",
            "a.localhost",
        ] {
            assert!(is_host(host) && is_local(host), "{host}");
        }
        for host in ["example.com", "example.com/mcp", "mcp:8080", "192.168.0.1"] {
            assert!(is_host(host) && !is_local(host), "{host}");
        }
        for name in [
            "github",
            "my-server",
            "./server",
            "claude:github",
            "",
            "/x.y",
        ] {
            assert!(!is_host(name), "{name}");
        }
        assert!(!is_local("localhost.evil.com"));
        assert!(!is_local("127.0.0.1.evil.com"));
    }
}
