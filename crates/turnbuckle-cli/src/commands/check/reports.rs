//! The forms in which a report is printed and written to files.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use turnbuckle_check::report::terminal::{self, Tone};
use turnbuckle_check::report::{Report, badge, html, json, junit, markdown, sarif};

use crate::error::CliError;
use crate::output::{Console, Style};

/// A report that the command line asks for.
#[derive(Clone)]
pub(super) struct ReportFile {
    kind: ReportKind,
    /// The file; `None` for standard output.
    path: Option<PathBuf>,
}

/// A function that writes a report.
type ReportKind = fn(&Report, &mut dyn Write) -> io::Result<()>;

/// The kinds of reports by name.
const KINDS: [(&str, ReportKind); 7] = [
    ("json", json::write),
    ("junit", junit::write),
    ("sarif", sarif::write),
    ("html", html::write),
    ("md", markdown::write),
    ("badge", badge::write_svg),
    ("shield", badge::write_json),
];

impl ReportFile {
    /// Parses `KIND=PATH`; the path `-` is standard output.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (name, path) = text.split_once('=').unwrap_or((text, ""));
        let found = KINDS.iter().find(|(kind, _)| *kind == name);
        let Some((_, kind)) = found.filter(|_| !path.is_empty()) else {
            let names = KINDS.map(|(name, _)| name).join(", ");
            return Err(format!("a report is KIND=PATH; the kinds are {names}"));
        };
        Ok(Self {
            kind: *kind,
            path: (path != "-").then(|| path.into()),
        })
    }
}

/// Writes the reports of the command line, and prints the report unless one of them is on standard
/// output.
pub(super) fn write(
    report: &Report,
    files: &[ReportFile],
    console: &Console,
) -> Result<(), CliError> {
    for file in files {
        if let Some(path) = &file.path {
            let written = File::create(path).and_then(|mut out| (file.kind)(report, &mut out));
            written.map_err(|error| {
                CliError::new(format!("cannot write {}: {error}", path.display()))
            })?;
        }
    }
    let mut printed = files.iter().filter(|file| file.path.is_none()).peekable();
    if printed.peek().is_none() {
        return print(report, console);
    }
    for file in printed {
        console.print(&render(|out| (file.kind)(report, out))?)?;
    }
    Ok(())
}

fn print(report: &Report, console: &Console) -> Result<(), CliError> {
    if !console.is_text() {
        return console.print_json(&serde_json::to_string(report)?);
    }
    let style = |tone, text: &str| {
        let style = match tone {
            Tone::Strong => Style::Strong,
            Tone::Dim => Style::Dim,
            Tone::Heading => Style::Heading,
            Tone::Good => Style::Good,
            Tone::Warning => Style::Warning,
            Tone::Error => Style::Error,
        };
        console.style(style, text)
    };
    let options = terminal::Options {
        verbose: console.args.verbose,
        style: &style,
    };
    console.print(&render(|out| terminal::write(report, &options, out))?)
}

/// Returns a report as text.
fn render(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<String, CliError> {
    let mut out = Vec::new();
    write(&mut out).map_err(|error| CliError::new(format!("cannot write the report: {error}")))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}
