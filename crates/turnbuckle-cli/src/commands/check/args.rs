//! The options of the `check` command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::Value;
use turnbuckle_check::report::Level;
use turnbuckle_check::{Bind, OtherToken, Selection};

use super::reports::ReportFile;

#[derive(Args)]
#[command(next_help_heading = "Checks")]
pub(super) struct CheckArgs {
    /// List the checks, and make none: with `--client` those of clients
    #[arg(long)]
    pub(super) list: bool,

    /// Check a client: the command after `--` is one. `{url}` in it stands for the URL of a server,
    /// `{command}` for the words of a command that is one; without either the URL comes last
    #[arg(long, conflicts_with_all = [
        "transport",
        "protocol_version",
        "allow_tool",
        "hostile",
        "other_tokens",
        "lock",
        "update_lock",
    ])]
    pub(super) client: bool,

    /// Let some of the servers demand a login, whose page agrees at once. It is opened when the client prints its
    /// URL, or opens it by $BROWSER
    #[arg(long, requires = "client")]
    pub(super) login: bool,

    /// Open a login page in place of a browser, as the client under check needs it
    #[arg(long, value_name = "URL", hide = true)]
    pub(super) visit: Option<String>,

    /// Relay standard input and output to a scripted server, as the client under check needs it
    #[arg(long, value_name = "PLACE", hide = true)]
    pub(super) relay: Option<String>,

    /// Make this check only, or those of this topic
    #[arg(long, value_name = "CHECK|TOPIC", value_delimiter = ',')]
    pub(super) only: Vec<String>,

    /// Leave out this check, or those of this topic
    #[arg(long, value_name = "CHECK|TOPIC", value_delimiter = ',')]
    pub(super) skip: Vec<String>,

    /// Leave out checks that are milder than this
    #[arg(long, value_enum, default_value_t = LevelChoice::Note)]
    pub(super) level: LevelChoice,

    /// Fail also if a SHOULD is broken
    #[arg(long)]
    pub(super) strict: bool,

    /// Use this transport only
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(super) transport: Vec<TransportChoice>,

    /// Allow calls of a tool that may change something, with these arguments or with some that are made
    /// from its schema
    #[arg(long, value_name = "NAME[=JSON]", value_parser = parse_tool)]
    pub(super) allow_tool: Vec<(String, Option<Value>)>,

    /// Show the server also the token in this environment variable: that of another user (user), one whose scopes
    /// do not suffice for everything (narrow), an expired one (expired), or one for another server (foreign)
    #[arg(long = "other-token", value_name = "KIND=VARIABLE", value_delimiter = ',', value_parser = parse_other_token)]
    pub(super) other_tokens: Vec<(OtherToken, String)>,

    /// Strain the server also if it is on another machine
    #[arg(long)]
    pub(super) hostile: bool,

    /// Write a report to a file, or to standard output instead of the text: json, junit, sarif, html, md,
    /// badge (an image) or shield (JSON for shields.io)
    #[arg(long = "report", value_name = "KIND=PATH", value_delimiter = ',', value_parser = ReportFile::parse)]
    pub(super) reports: Vec<ReportFile>,

    /// Take the findings that this file lists as known: they do not fail. Also an expected-failures file
    /// (.yml) of the official suite
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,

    /// Write all findings to the baseline
    #[arg(long, requires = "baseline")]
    pub(super) update_baseline: bool,

    /// Report what has changed in the interface of the server since this file was written; writes it the
    /// first time
    #[arg(long, value_name = "FILE")]
    pub(super) lock: Option<PathBuf>,

    /// Write the interface of the server to the lock
    #[arg(long, requires = "lock")]
    pub(super) update_lock: bool,
}

impl CheckArgs {
    /// Returns the choice of checks.
    pub(super) fn selection(&self) -> Selection {
        let all = Selection::new().level(self.level.into());
        let chosen = self.only.iter().fold(all, Selection::only);
        self.skip.iter().fold(chosen, Selection::skip)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LevelChoice {
    Must,
    Should,
    Note,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TransportChoice {
    Stdio,
    Http,
    Sse,
}

impl From<LevelChoice> for Level {
    fn from(choice: LevelChoice) -> Self {
        match choice {
            LevelChoice::Must => Self::Must,
            LevelChoice::Should => Self::Should,
            LevelChoice::Note => Self::Note,
        }
    }
}

impl From<TransportChoice> for Bind {
    fn from(choice: TransportChoice) -> Self {
        match choice {
            TransportChoice::Stdio => Self::Stream,
            TransportChoice::Http => Self::Http,
            TransportChoice::Sse => Self::Sse,
        }
    }
}

/// Parses `KIND=VARIABLE`.
fn parse_other_token(text: &str) -> Result<(OtherToken, String), String> {
    let (name, variable) = text.split_once('=').ok_or("write KIND=VARIABLE")?;
    let kind = OtherToken::ALL.into_iter().find(|it| it.as_str() == name);
    let kind = kind.ok_or("a kind is user, narrow, expired or foreign")?;
    Ok((kind, variable.to_owned()))
}

/// Parses `NAME` or `NAME=JSON`.
fn parse_tool(text: &str) -> Result<(String, Option<Value>), String> {
    let Some((name, json)) = text.split_once('=') else {
        return Ok((text.to_owned(), None));
    };
    match serde_json::from_str(json) {
        Ok(arguments @ Value::Object(_)) => Ok((name.to_owned(), Some(arguments))),
        Ok(_) => Err("the arguments of a tool are a JSON object".to_owned()),
        Err(error) => Err(format!("the arguments are no JSON: {error}")),
    }
}
