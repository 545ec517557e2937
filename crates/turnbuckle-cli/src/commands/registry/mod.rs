//! The `registry` command: checks a `server.json` before it is published.

mod inputs;
mod rules;
mod walk;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::Value;

use crate::args::{Format, OutputArgs};
use crate::error::{CliError, ExitStatus};
use crate::input::read_text_file;
use crate::output::{Console, Style, sanitize_line};
use walk::Finding;

/// The most findings that are shown.
const MAX_FINDINGS: usize = 200;

/// The most characters of a finding that are shown.
const MAX_SHOWN_CHARS: usize = 300;

/// A use of the registry's rules.
#[derive(Subcommand)]
pub(crate) enum RegistryCommand {
    /// Checks a server.json against the rules of the official registry, without asking it
    Validate(ValidateOptions),
}

/// Options of `registry validate`.
#[derive(Args)]
pub(crate) struct ValidateOptions {
    /// The path of the server.json
    #[arg(default_value = "server.json")]
    file: PathBuf,

    #[command(flatten)]
    output: OutputArgs,
}

impl RegistryCommand {
    pub(crate) fn output_args(&mut self) -> &OutputArgs {
        let Self::Validate(options) = self;
        &options.output
    }
}

/// The result as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    file: String,
    is_valid: bool,
    findings: &'a [Finding],
}

/// Prints all findings.
///
/// # Errors
/// Fails if the file cannot be read, or the registry would refuse it.
pub(crate) fn run(command: &RegistryCommand) -> Result<(), CliError> {
    let RegistryCommand::Validate(options) = command;
    let file = options.file.display().to_string();
    let text = read_text_file(&file)?;
    let json = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let value: Value = serde_json::from_str(json)
        .map_err(|error| CliError::usage(format!("{file} is not JSON: {error}")))?;
    let mut findings = rules::check(&value);
    if json.len() < text.len() {
        findings.push(Finding {
            path: String::new(),
            message:
                "the file begins with a byte order mark (U+FEFF); save it as UTF-8 without one"
                    .to_owned(),
            is_error: true,
        });
    }
    let errors = findings.iter().filter(|finding| finding.is_error).count();
    let console = Console::new(&options.output);
    match console.args.output {
        Format::Text => print_text(&console, &findings)?,
        Format::Json | Format::Ndjson => {
            let report = Report {
                file: file.clone(),
                is_valid: errors == 0,
                findings: &findings,
            };
            console.print_json(&serde_json::to_string(&report)?)?;
        }
    }
    match errors {
        0 => {
            console.print_note(&format!("{file}: the registry would take it"));
            Ok(())
        }
        errors => {
            let faults = if errors == 1 { "fault" } else { "faults" };
            Err(CliError::new(format!("{file} has {errors} {faults}"))
                .status(ExitStatus::ProtocolViolation))
        }
    }
}

fn print_text(console: &Console, findings: &[Finding]) -> Result<(), CliError> {
    for finding in findings.iter().take(MAX_FINDINGS) {
        let (word, style) = match finding.is_error {
            true => ("error", Style::Error),
            false => ("warning", Style::Warning),
        };
        let path = if finding.path.is_empty() {
            "/"
        } else {
            &finding.path
        };
        let text = sanitize_line(&format!("{path}: {}", finding.message), MAX_SHOWN_CHARS);
        console.print(&format!("{} {text}", console.style(style, word)))?;
    }
    if let Some(more) = findings
        .len()
        .checked_sub(MAX_FINDINGS)
        .filter(|more| *more > 0)
    {
        console.print(&format!("… and {more} more"))?;
    }
    Ok(())
}
