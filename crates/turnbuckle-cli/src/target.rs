//! Which server is meant.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::path::PathBuf;

use crate::args::Reach;
use crate::config::{Reached, Variables, lookup};
use crate::failure::Failure;

/// The words after the verb, in their order.
pub(crate) struct Words {
    left: VecDeque<String>,
    /// Whether a command follows them, after `--`.
    before_command: bool,
}

impl Words {
    pub(crate) fn new(words: Vec<String>) -> Self {
        Self {
            left: words.into(),
            before_command: false,
        }
    }

    /// The next word, if there is one.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.left.pop_front()
    }

    /// The next word, which has to be there.
    pub(crate) fn need(&mut self, what: &str) -> Result<String, Failure> {
        let hint = match self.before_command {
            true => "it stands before `--`: what follows that starts the server",
            false => "`--help` tells how it is written",
        };
        self.next()
            .ok_or_else(|| Failure::usage(format!("{what} is missing")).hint(hint))
    }

    /// All words that are left.
    pub(crate) fn rest(self) -> Vec<String> {
        self.left.into()
    }

    /// Refuses what is left.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(Failure::usage(format!("{word:?} is one word too many"))
                .hint("`--help` tells how it is written")),
        }
    }
}

/// The server to connect to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Url {
        url: String,
        headers: BTreeMap<String, String>,
        /// Whether it is known to speak HTTP+SSE.
        sse: bool,
    },
    Command {
        program: OsString,
        args: Vec<OsString>,
        env: BTreeMap<String, String>,
        env_file: Option<PathBuf>,
        cwd: Option<PathBuf>,
        /// The file that names it: what it runs is shown first.
        from: Option<PathBuf>,
    },
}

impl Target {
    /// The server that the command after `--`, `--server` or else the first word means.
    pub(crate) fn of(reach: &Reach, words: &mut Words) -> Result<Self, Failure> {
        if let [program, args @ ..] = &reach.command[..] {
            words.before_command = true;
            return Ok(Self::Command {
                program: program.clone(),
                args: args.to_vec(),
                env: BTreeMap::new(),
                env_file: None,
                cwd: None,
                from: None,
            });
        }
        if let Some(name) = &reach.server {
            return Self::named(name, reach)?.map_err(|missing| missing.failure(name));
        }
        let word = words.next().ok_or_else(|| {
            Failure::usage("no server is given")
                .hint("give a URL, a name from a file, or `-- COMMAND ARGS`")
        })?;
        if word.contains("://") {
            return Ok(Self::at(word));
        }
        match Self::named(&word, reach)? {
            Ok(target) => Ok(target),
            Err(_) if reach.config.is_none() && is_host(&word) => {
                let scheme = if is_local(&word) { "http" } else { "https" };
                Ok(Self::at(format!("{scheme}://{word}")))
            }
            Err(missing) => Err(missing.failure(&word)),
        }
    }

    fn at(url: String) -> Self {
        Self::Url {
            url,
            headers: BTreeMap::new(),
            sse: false,
        }
    }

    fn named(name: &str, reach: &Reach) -> Result<Result<Self, crate::config::Missing>, Failure> {
        let found = match lookup(name, reach.config.as_deref())? {
            Ok(found) => found,
            Err(missing) => return Ok(Err(missing)),
        };
        let workspace = found.workspace();
        let variables = Variables {
            env: &|name| std::env::var(name).ok(),
            workspace: &workspace,
        };
        let reached = found.entry.reached(&variables).map_err(|why| {
            Failure::usage(format!(
                "{:?} in {}: {why}",
                found.name,
                found.file.display()
            ))
        })?;
        Ok(Ok(match reached {
            Reached::Url { url, headers, sse } => Self::Url { url, headers, sse },
            Reached::Command {
                program,
                args,
                env,
                env_file,
                cwd,
            } => Self::Command {
                program: program.into(),
                args: args.into_iter().map(OsString::from).collect(),
                env,
                // Paths in a file are seen from its project.
                env_file: env_file.map(|file| workspace.join(file)),
                cwd: cwd.map(|directory| workspace.join(directory)),
                from: Some(found.file),
            },
        }))
    }
}

/// Whether a word can be the beginning of a URL without its scheme.
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

/// Whether what follows a URL's scheme leads to this machine.
pub(crate) fn is_local(word: &str) -> bool {
    let host = word.split(['/', '?']).next().unwrap_or_default();
    let name = match host.starts_with('[') {
        true => host.split_inclusive(']').next().unwrap_or_default(),
        false => host.split(':').next().unwrap_or_default(),
    };
    let name = name.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name == "[::1]"
        || name
            .parse::<std::net::Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_from_names() {
        for host in [
            "localhost",
            "localhost:3000/mcp",
            "127.0.0.1:1",
            "[::1]:80/x",
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
