//! Command-line options that every command shares: the server, the protocol and the output.

mod deferred;
mod leading;
pub(crate) mod limits;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use turnbuckle::Revision;
use turnbuckle::client::EraPreference;
use turnbuckle::types::LoggingLevel;

pub(crate) use deferred::Deferred;
pub(crate) use leading::move_options_behind_verb;
use limits::{LimitValue, parse_limit};
pub(crate) use turnbuckle_types::base::units::{parse_size, parse_time};

/// The options that every command shares.
#[derive(Args, Clone)]
pub(crate) struct CommonArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) protocol: ProtocolArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Options that select a server and say how to reach it.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// Take the server from this file (mcpServers or servers) instead of looking for one
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The server's name in the file, instead of TARGET
    #[arg(short, long, value_name = "NAME")]
    pub(crate) server: Option<String>,

    /// Send this header with every request
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    pub(crate) headers: Vec<(String, String)>,

    /// Send a header whose value an environment variable holds
    #[arg(long, value_name = "NAME=VAR", value_parser = parse_pair)]
    pub(crate) header_env: Vec<(String, String)>,

    /// Send the token that an environment variable holds
    #[arg(long, value_name = "VAR")]
    pub(crate) bearer_env: Option<String>,

    /// Never log in: use stored credentials only, or fail with exit code 3
    #[arg(long)]
    pub(crate) stored_auth_only: bool,

    /// Send headers over HTTP that is not encrypted, to another machine
    #[arg(long)]
    pub(crate) insecure_http: bool,

    /// Send --header, --header-env and --bearer-env also to a URL from a file that was found
    #[arg(long)]
    pub(crate) headers_to_found_url: bool,

    /// Also trust the certificates in this PEM file
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,

    /// Authenticate with the client certificate and key in this PEM file
    #[arg(long, value_name = "FILE")]
    pub(crate) client_cert: Option<PathBuf>,

    /// Set a variable of the command's environment
    #[arg(short, long = "env", value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub(crate) env: Vec<(String, String)>,

    /// Set variables from a file with one NAME=VALUE per line
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,

    /// Run the command in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Pass the whole environment to the command instead of a safe subset
    #[arg(long)]
    pub(crate) inherit_env: bool,
}

/// Options of the protocol: revisions, client capabilities, timeouts, logs.
#[derive(Args, Clone)]
#[command(next_help_heading = "Protocol")]
pub(crate) struct ProtocolArgs {
    /// Speak one era only
    #[arg(long, value_enum, default_value_t = EraChoice::Auto, hide_default_value = true)]
    era: EraChoice,

    /// Speak this revision only
    #[arg(long, value_name = "REVISION", conflicts_with = "era", value_parser = parse_revision)]
    protocol_version: Option<Revision>,

    /// Requests that the server may send: sampling, elicitation, roots, or none [default: elicitation
    /// at a terminal; with --answer, sampling too]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub(crate) caps: Option<Vec<CapabilityChoice>>,

    /// Find out anew which era and transport the server speaks, and do not remember it
    #[arg(long)]
    pub(crate) no_cache: bool,

    /// Offer this directory as a root; implies the roots capability
    #[arg(long = "root", value_name = "PATH")]
    pub(crate) roots: Vec<PathBuf>,

    /// Answer every question of the server with its defaults, and use commands and URLs of files that
    /// were found, without asking
    #[arg(short, long, conflicts_with = "no_input")]
    pub(crate) yes: bool,

    /// Answer the server's first question with this: accept, decline, cancel, a JSON object for a
    /// form, a text for a model, or @FILE; repeat for further questions
    #[arg(long = "answer", value_name = "VALUE")]
    pub(crate) answers: Vec<String>,

    /// Answer questions with this program: it reads each as JSON and prints what --answer takes
    #[arg(long, value_name = "PROGRAM", conflicts_with = "answers")]
    pub(crate) answer_command: Option<PathBuf>,

    /// Never ask the user anything
    #[arg(long)]
    pub(crate) no_input: bool,

    /// Time limit of a request: 500ms, 30s, 5m [default: 60s since the last progress report]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) timeout: Option<Duration>,

    /// Time limit of connecting
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s")]
    pub(crate) connect_timeout: Duration,

    /// The largest message that the server may send, in bytes, with k, M or G: 64M
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "16M")]
    pub(crate) max_message_bytes: usize,

    /// Set another limit, by the name that an error gives: --limit max-list-bytes=256M
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    pub(crate) limits: Vec<LimitValue>,

    /// Show the server's log messages from this level on [default with -v: info]
    #[arg(long, value_name = "LEVEL", value_parser = parse_log_level)]
    pub(crate) log: Option<LoggingLevel>,

    /// Write every message to a file as JSON lines, with secrets redacted
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// The largest file that --trace writes; the messages after it are left out
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1G")]
    pub(crate) max_trace_bytes: usize,

    /// Keep tokens, cookies, request states and form values in the file of --trace
    #[arg(long, requires = "trace")]
    pub(crate) trace_secrets: bool,
}

impl ProtocolArgs {
    /// Returns the eras and revisions that the options allow.
    pub(crate) fn era(&self) -> EraPreference {
        match (self.protocol_version, self.era) {
            (Some(revision), _) => EraPreference::Only(revision),
            (None, EraChoice::Auto) => EraPreference::Auto,
            (None, EraChoice::Legacy) => EraPreference::Legacy,
            (None, EraChoice::Modern) => EraPreference::Modern,
        }
    }
}

/// Options of the output.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// The format of results
    #[arg(short, long, value_enum, default_value_t, hide_default_value = true)]
    pub(crate) output: Format,

    /// Write images, sound and other data to this file, or into this directory
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,

    /// Print nothing but the result
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Also print the server's log messages and standard error
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// The most of the server's log messages and standard error that is printed, in bytes
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1M")]
    pub(crate) max_log_bytes: usize,

    /// Disable colours
    #[arg(long)]
    pub(crate) no_color: bool,
}

impl OutputArgs {
    /// Takes over the options of the shell that a line of it does not set. `has_format` is true if the
    /// line sets the format.
    pub(crate) fn inherit(&mut self, shell: &Self, has_format: bool) {
        if !has_format {
            self.output = shell.output;
        }
        if self.out.is_none() {
            self.out.clone_from(&shell.out);
        }
        self.quiet |= shell.quiet;
        self.verbose |= shell.verbose;
        self.no_color |= shell.no_color;
    }
}

/// The form of results on standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// The protocol's own object
    Json,
    /// The protocol's own objects, one a line: each item of a list, each change
    Ndjson,
}

/// A value of `--era`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum EraChoice {
    Auto,
    Legacy,
    Modern,
}

/// A value of `--caps`: something that the client lets a server ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CapabilityChoice {
    /// The user plays the model
    Sampling,
    /// Forms and URLs are shown to the user
    Elicitation,
    /// The directories of --root
    Roots,
    /// No capability
    None,
}

/// Parses `NAME: VALUE`.
pub(crate) fn parse_header(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("a header is written NAME: VALUE"),
    }
}

/// Parses `NAME=VALUE`.
pub(crate) fn parse_pair(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE"),
    }
}

/// Parses a revision, such as `2025-06-18`.
pub(crate) fn parse_revision(text: &str) -> Result<Revision, String> {
    Revision::parse(text).ok_or_else(|| {
        let revisions = Revision::ALL.map(Revision::as_str).join(", ");
        format!("the revisions are {revisions}")
    })
}

/// Parses a log level of the specification.
fn parse_log_level(text: &str) -> Result<LoggingLevel, String> {
    serde_json::from_value(text.into()).map_err(|_| {
        "the levels are debug, info, notice, warning, error, critical, alert and emergency".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_needs_a_name() {
        assert_eq!(
            parse_header("X-Key:  a:b "),
            Ok(("X-Key".into(), "a:b".into()))
        );
        assert!(parse_header("X-Key").is_err());
        assert!(parse_header(": value").is_err());
    }
}
