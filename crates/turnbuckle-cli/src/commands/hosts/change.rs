//! The steps that `add` and `remove` share: which file, what changes, the user's consent.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::add::host_list;
use super::diff::changed_lines;
use super::edit::{self, Change};
use super::file::HostFile;
use super::host::{Host, Scope};
use super::places::Places;
use crate::args::OutputArgs;
use crate::ask::{confirm, is_interactive};
use crate::error::CliError;
use crate::output::{Console, Style, sanitize};

/// The most lines of a change that are shown.
const MAX_SHOWN_LINES: usize = 200;

/// The most characters of a line that are shown.
const MAX_SHOWN_CHARS: usize = 300;

/// Options that select the file.
#[derive(Args, Clone)]
pub(crate) struct FileArgs {
    /// The host whose file it is [default: the one that is installed]
    #[arg(long, value_enum)]
    pub(super) host: Option<Host>,

    /// For all projects of the user, or for the project in the current directory
    #[arg(long, value_enum, default_value_t)]
    pub(super) scope: Scope,

    /// Change this file, in the dialect of the host
    #[arg(
        short,
        long,
        value_name = "FILE",
        requires = "host",
        conflicts_with = "scope"
    )]
    pub(super) config: Option<PathBuf>,

    /// Show the change and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Write without asking
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl FileArgs {
    /// Returns the host: the one that was named, or the only one that is installed.
    ///
    /// # Errors
    /// Fails if none or several are installed and none was named.
    pub(super) fn host(&self) -> Result<Host, CliError> {
        if let Some(host) = self.host {
            return Ok(host);
        }
        let places = self.places()?;
        let mut hosts = places.find_installed();
        hosts.retain(|host| places.file(*host, self.scope).is_some());
        match &hosts[..] {
            [host] => Ok(*host),
            [] => Err(
                CliError::usage("no host was found in its usual place").hint(format!(
                    "name one with `--host`: {}",
                    host_list(Host::all())
                )),
            ),
            several => Err(CliError::usage(format!(
                "{} hosts are installed: {}",
                several.len(),
                host_list(several)
            ))
            .hint(format!("name one: `--host {}`", several[0].option()))),
        }
    }

    pub(super) fn places(&self) -> Result<Places, CliError> {
        let project = std::env::current_dir()
            .map_err(|error| CliError::new(format!("no current directory: {error}")))?;
        let missing = || CliError::new("the environment names no home directory (HOME)");
        Places::from_env(project).ok_or_else(missing)
    }

    fn path(&self, host: Host) -> Result<PathBuf, CliError> {
        if let Some(file) = &self.config {
            return Ok(file.clone());
        }
        let file = self.places()?.file(host, self.scope);
        file.ok_or_else(|| {
            let title = host.title();
            CliError::usage(format!("{title} has no file for a project"))
                .hint("leave `--scope project` out")
        })
    }
}

/// A change of a host's file that the user has not seen yet.
pub(super) struct HostChange {
    host: Host,
    file: HostFile,
    args: FileArgs,
    /// The servers that the file has.
    pub(super) servers: Map<String, Value>,
    pub(super) console: Console,
}

impl HostChange {
    /// Reads the file of a host.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not what the host reads.
    pub(super) fn read(args: &FileArgs, host: Host) -> Result<Self, CliError> {
        let file = HostFile::read(&args.path(host)?)?;
        let servers = edit::servers(file.text(), host.syntax(), host.member());
        let servers = servers.map_err(|reason| {
            CliError::usage(format!("{}: {reason}", file.describe()))
                .hint("nothing was changed; mend the file first")
        })?;
        Ok(Self {
            host,
            file,
            args: args.clone(),
            servers,
            console: Console::new(&args.output),
        })
    }

    /// Returns the host and its file, for messages.
    pub(super) fn describe(&self) -> String {
        format!("{} ({})", self.file.describe(), self.host.title())
    }

    /// Reports that the file is as it shall be.
    pub(super) fn report_nothing(&self, reason: &str) -> Result<(), CliError> {
        self.report(&format!("{}: {reason}", self.describe()), false, None)
    }

    /// Shows the change, asks, and writes.
    ///
    /// # Errors
    /// Fails if the user refuses or cannot be asked, or the file cannot be changed. Then it is as before.
    pub(super) async fn apply(&mut self, name: &str, change: &Change) -> Result<(), CliError> {
        let (old, host) = (self.file.text(), self.host);
        let new = edit::change(old, host.syntax(), host.member(), name, change);
        let new = new.map_err(|reason| {
            CliError::usage(format!("{}: {reason}", self.file.describe()))
                .hint("nothing was changed; mend the file first")
        })?;
        self.show(old, &new);
        if self.args.dry_run {
            return self.report("nothing was written (--dry-run)", false, None);
        }
        if !self.args.yes {
            if !is_interactive() {
                return Err(CliError::usage("nobody can be asked; nothing was written")
                    .hint("pass `--yes` to write without a question, or `--dry-run` to look"));
            }
            if confirm(&self.console, "Write it?", false).await != Some(true) {
                return Err(CliError::new("nothing was written"));
            }
        }
        let copy = self.file.replace(&new)?;
        let title = host.title();
        let message = match &copy {
            Some(copy) => format!("written; the former file is {}", copy.display()),
            None => "written".to_owned(),
        };
        let message = format!("{message}. {title} reads the file when it starts");
        self.report(&message, true, copy)
    }

    fn show(&self, old: &str, new: &str) {
        self.console.print_message(&self.describe());
        let lines = changed_lines(old, new);
        for line in lines.iter().take(MAX_SHOWN_LINES) {
            let style = match line.is_added {
                true => Style::Good,
                false => Style::Error,
            };
            let line: String = sanitize(&line.to_string())
                .chars()
                .take(MAX_SHOWN_CHARS)
                .collect();
            self.console
                .print_message(&self.console.style_stderr(style, &line));
        }
        if let Some(more) = lines
            .len()
            .checked_sub(MAX_SHOWN_LINES)
            .filter(|more| *more > 0)
        {
            self.console
                .print_message(&format!("… and {more} more lines"));
        }
    }

    fn report(&self, text: &str, is_written: bool, copy: Option<PathBuf>) -> Result<(), CliError> {
        match self.console.is_text() {
            true => self.console.print_note(text),
            false => {
                let report = json!({
                    "host": self.host.option(),
                    "file": self.file.describe(),
                    "written": is_written,
                    "copy": copy,
                });
                self.console.print_json(&report.to_string())?;
            }
        }
        Ok(())
    }
}
