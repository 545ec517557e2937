//! What can be said on the command line, the same for every verb.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use turnbuckle::Revision;
use turnbuckle::client::Era;
use turnbuckle::types::LogLevel;

/// Which server, how it is reached and spoken with, and how results are shown.
#[derive(Args, Clone)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) reach: Reach,
    #[command(flatten)]
    pub(crate) speak: Speak,
    #[command(flatten)]
    pub(crate) look: Look,
}

/// Which server, and how it is reached.
#[derive(Args, Clone)]
#[command(next_help_heading = "Server")]
pub(crate) struct Reach {
    /// Take the server from this file (mcpServers or servers) instead of looking for one
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The server's name in the file, instead of TARGET
    #[arg(short, long, value_name = "NAME", conflicts_with = "command")]
    pub(crate) server: Option<String>,

    /// Send this header with every request
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,

    /// Send a header whose value an environment variable holds
    #[arg(long, value_name = "NAME=VAR", value_parser = pair)]
    pub(crate) header_env: Vec<(String, String)>,

    /// Send the token that an environment variable holds
    #[arg(long, value_name = "VAR")]
    pub(crate) bearer_env: Option<String>,

    /// Send headers over HTTP that is not encrypted, to another machine
    #[arg(long)]
    pub(crate) insecure_http: bool,

    /// Trust the certificates in this PEM file, too
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,

    /// Show the server the certificate in this PEM file, which also holds its key
    #[arg(long, value_name = "FILE")]
    pub(crate) client_cert: Option<PathBuf>,

    /// Set a variable of the command's environment
    #[arg(short, long = "env", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) env: Vec<(String, String)>,

    /// Set the variables that a file holds, one NAME=VALUE a line
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,

    /// Run the command in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Let the command see the whole environment instead of its harmless part
    #[arg(long)]
    pub(crate) inherit_env: bool,

    /// The server's command, instead of TARGET
    #[arg(last = true, value_name = "COMMAND", hide = true)]
    pub(crate) command: Vec<OsString>,
}

/// How the server is spoken with.
#[derive(Args, Clone)]
#[command(next_help_heading = "Protocol")]
pub(crate) struct Speak {
    /// Speak one era only
    #[arg(long, value_enum, default_value_t = EraChoice::Auto, hide_default_value = true)]
    era: EraChoice,

    /// Speak this revision only
    #[arg(long, value_name = "REVISION", conflicts_with = "era", value_parser = revision)]
    protocol_version: Option<Revision>,

    /// What the server may ask: sampling, elicitation, roots, or none [default: elicitation at a
    /// terminal]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub(crate) caps: Option<Vec<Cap>>,

    /// Open a directory to the server; implies the capability
    #[arg(long = "root", value_name = "PATH")]
    pub(crate) roots: Vec<PathBuf>,

    /// Answer questions with their defaults, and agree to what is asked
    #[arg(short, long, conflicts_with = "no_input")]
    pub(crate) yes: bool,

    /// Never ask anything
    #[arg(long)]
    pub(crate) no_input: bool,

    /// How long an answer may take: 500ms, 30s, 5m [default: 60s after the last sign of progress]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,

    /// How long connecting may take
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub(crate) connect_timeout: Duration,

    /// Show the server's log messages from this level on [default with -v: info]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) log: Option<LogLevel>,

    /// Write what goes over the wire to a file, without secrets, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

impl Speak {
    /// The eras and revisions that may be spoken.
    pub(crate) fn era(&self) -> Era {
        match (self.protocol_version, self.era) {
            (Some(revision), _) => Era::Only(revision),
            (None, EraChoice::Auto) => Era::Auto,
            (None, EraChoice::Legacy) => Era::Legacy,
            (None, EraChoice::Modern) => Era::Modern,
        }
    }
}

/// How results are shown.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct Look {
    /// How results are printed
    #[arg(short, long, value_enum, default_value_t, hide_default_value = true)]
    pub(crate) output: Format,

    /// Write images, sound and other data to this file, or into this directory
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,

    /// Say nothing beside the result
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Say more: the server's log and what it writes to standard error
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// No colours
    #[arg(long)]
    pub(crate) no_color: bool,
}

/// How results are printed.
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

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum EraChoice {
    Auto,
    Legacy,
    Modern,
}

/// Something that a server may ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Cap {
    /// The user plays the model
    Sampling,
    /// Forms and URLs are shown to the user
    Elicitation,
    /// The directories of --root
    Roots,
    /// Nothing
    None,
}

/// `NAME: VALUE`.
fn header(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("a header is written NAME: VALUE"),
    }
}

/// `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it is written NAME=VALUE"),
    }
}

fn revision(text: &str) -> Result<Revision, String> {
    Revision::parse(text).ok_or_else(|| {
        let known = Revision::ALL.map(Revision::as_str).join(", ");
        format!("the revisions are {known}")
    })
}

fn level(text: &str) -> Result<LogLevel, String> {
    serde_json::from_value(text.into()).map_err(|_| {
        "the levels are debug, info, notice, warning, error, critical, alert and emergency".into()
    })
}

/// `500ms`, `30s`, `5m`, `1h`; a number alone is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, &'static str> {
    const HOW: &str = "a time is written like 500ms, 30s, 5m or 1h";
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| HOW)?;
    let millis = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let millis = millis
        .and_then(|unit: u64| number.checked_mul(unit))
        .ok_or(HOW)?;
    match millis {
        0 => Err("it has to be longer than nothing"),
        // A year; what is longer than that cannot be added to a clock everywhere.
        1..=31_536_000_000 => Ok(Duration::from_millis(millis)),
        _ => Err("it is longer than a year"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("3"), Ok(Duration::from_secs(3)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in [
            "",
            "0s",
            "s",
            "1d",
            "-1s",
            "1.5s",
            "99999999999999999999s",
            "99999999h",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_header_needs_a_name() {
        assert_eq!(header("X-Key:  a:b "), Ok(("X-Key".into(), "a:b".into())));
        assert!(header("X-Key").is_err());
        assert!(header(": value").is_err());
    }
}
