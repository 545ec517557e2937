//! The report at a terminal.

use std::io::{self, Write};

use turnbuckle_types::base::terminal::sanitize_line;

use super::cases::describe;
use super::matrix::{Group, Matrix, Outcome, Row, count_of, totals};
use super::{Report, Totals};

/// The most findings of a check that are printed.
const MAX_FINDINGS: usize = 10;

/// The most characters of a line.
const MAX_LINE_CHARS: usize = 600;

/// The meaning of a part of the text, for whoever gives it a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// A name.
    Strong,
    /// A less important detail.
    Dim,
    /// A heading.
    Heading,
    /// A success.
    Good,
    /// A warning.
    Warning,
    /// A failure.
    Error,
}

/// The options of the report at a terminal.
pub struct Options<'a> {
    /// True if every check is listed, and the messages of each finding.
    pub verbose: bool,
    /// Gives a part of the text its colour.
    pub style: &'a dyn Fn(Tone, &str) -> String,
}

impl Options<'_> {
    /// Returns options without colours and without messages.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            verbose: false,
            style: &|_, text| text.to_owned(),
        }
    }
}

/// Writes the report for people: the findings by topic, then the number of checks of each outcome.
/// Every line of the checked side is one line, without terminal escape sequences.
///
/// # Errors
/// When `out` fails.
pub fn write(report: &Report, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let printer = Printer {
        matrix: Matrix::new(report),
        options,
    };
    printer.head(report, out)?;
    for (topic, rows) in printer.matrix.topics() {
        printer.topic(topic, rows, out)?;
    }
    printer.summary(report, out)
}

struct Printer<'a, 'r> {
    matrix: Matrix<'r>,
    options: &'a Options<'a>,
}

impl Printer<'_, '_> {
    fn style(&self, tone: Tone, text: &str) -> String {
        (self.options.style)(tone, text)
    }

    fn head(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let target = self.style(Tone::Strong, &sanitize_line(&report.target, 200));
        let server = report.cases.iter().rev().find_map(server_name);
        let server = server.map_or_else(String::new, |name| format!(" ({name})"));
        let all: Vec<_> = (0..report.cases.len()).collect();
        let cases = match report.cases.len() {
            0 => "no case".to_owned(),
            1 => describe(&all, &report.cases),
            count => {
                let of_transports = describe_transports(report);
                format!("{count} cases: {of_transports}")
            }
        };
        writeln!(out, "{target}{server}, {}", sanitize_line(&cases, 400))?;
        for case in &report.cases {
            if let Some(reason) = &case.stopped {
                let label = format!("{} over {}", case.revision, case.transport);
                let stopped = self.style(Tone::Error, "stopped");
                let label = sanitize_line(&label, 100);
                writeln!(out, "{stopped} {label}: {}", line(reason))?;
            }
        }
        Ok(())
    }

    fn topic(&self, topic: &str, rows: &[Row<'_>], out: &mut dyn Write) -> io::Result<()> {
        let is_silent = |row: &Row<'_>| {
            matches!(
                row.outcome(),
                Outcome::Pass | Outcome::Skip | Outcome::Known
            )
        };
        if !self.options.verbose && rows.iter().all(is_silent) {
            return Ok(());
        }
        let counts = totals(rows).describe();
        let topic = self.style(Tone::Heading, topic);
        writeln!(out, "\n{topic}  {}", self.style(Tone::Dim, &counts))?;
        for row in rows {
            if self.options.verbose || !is_silent(row) {
                self.row(row, out)?;
            }
        }
        Ok(())
    }

    fn row(&self, row: &Row<'_>, out: &mut dyn Write) -> io::Result<()> {
        let outcome = row.outcome();
        let (tone, word) = match outcome {
            Outcome::Pass => (Tone::Good, "pass"),
            Outcome::Fail => (Tone::Error, "FAIL"),
            Outcome::Warn => (Tone::Warning, "WARN"),
            Outcome::Note => (Tone::Strong, "note"),
            Outcome::Known => (Tone::Dim, "known"),
            Outcome::Skip => (Tone::Dim, "skip"),
        };
        let word = self.style(tone, &format!("{word:<5}"));
        let id = self.style(Tone::Strong, row.id);
        let detail = match outcome {
            Outcome::Skip => row.reason().map(line).unwrap_or_default(),
            Outcome::Pass => String::new(),
            _ => sanitize_line(&describe(&row.found_in(), self.matrix.cases), 200),
        };
        let detail = self.style(Tone::Dim, &detail);
        let text = format!("  {word} {id}  {}  {detail}", row.title);
        writeln!(out, "{}", text.trim_end())?;
        let groups = row.groups();
        for group in groups.iter().take(MAX_FINDINGS) {
            self.group(row, group, out)?;
        }
        if let omitted @ 1.. = groups.len().saturating_sub(MAX_FINDINGS) {
            writeln!(out, "        … and {omitted} more")?;
        }
        self.advice(row, out)
    }

    fn group(&self, row: &Row<'_>, group: &Group<'_, '_>, out: &mut dyn Write) -> io::Result<()> {
        let common = group.common;
        let finding = common.finding;
        let mut text = line(&finding.sentence);
        let (named, others) = group.named_items();
        if !named.is_empty() {
            let names = named.iter().map(|item| sanitize_line(item, 120));
            let mut names = names.collect::<Vec<_>>().join(", ");
            if others > 0 {
                names += &format!(" and {others} more");
            }
            text = format!("{names}: {text}");
        }
        if common.known {
            text += &self.style(Tone::Dim, "  (known)");
        }
        if common.cases.len() < row.found_in().len() {
            let cases = sanitize_line(&describe(&common.cases, self.matrix.cases), 200);
            text += &self.style(Tone::Dim, &format!("  {cases}"));
        }
        writeln!(out, "        {text}")?;
        if self.options.verbose {
            for message in &finding.messages {
                let direction = sanitize_line(&message.direction, 2);
                let text = format!("{direction} {}", line(&message.text));
                writeln!(out, "          {}", self.style(Tone::Dim, &text))?;
            }
        }
        Ok(())
    }

    /// Writes where the specification has the rule, the fix, and the command that repeats it: each
    /// once for all findings of a check.
    fn advice(&self, row: &Row<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Some(first) = row.findings.first() else {
            return Ok(());
        };
        let mut write = |name: &str, text: &str| {
            let name = self.style(Tone::Dim, &format!("{name:<6}"));
            writeln!(out, "        {name} {text}")
        };
        if let Some(place) = row.requirement() {
            write(
                "rule",
                &format!("{} ({})", line(&place.gist), line(&place.level)),
            )?;
            write(
                "page",
                &format!(
                    "{}, line {} of {}",
                    line(&place.link),
                    place.line,
                    line(&place.page)
                ),
            )?;
        }
        if !first.finding.fix.is_empty() {
            write("fix", &line(&first.finding.fix))?;
        }
        if !first.finding.repeat.is_empty() {
            write("repeat", &line(&first.finding.repeat))?;
        }
        Ok(())
    }

    fn summary(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        for note in report.notes.iter().take(50) {
            writeln!(out, "{}", line(note))?;
        }
        if let omitted @ 1.. = report.notes.len().saturating_sub(50) {
            writeln!(out, "… and {omitted} more notes")?;
        }
        let totals = self.matrix.totals();
        let tone = match totals {
            Totals { failed: 1.., .. } => Tone::Error,
            Totals { warned: 1.., .. } => Tone::Warning,
            _ => Tone::Good,
        };
        let counts = match totals.checks {
            0 => "no check ran".to_owned(),
            _ => self.style(tone, &totals.describe()),
        };
        let seconds = report.millis / 1000;
        let tenths = report.millis % 1000 / 100;
        writeln!(
            out,
            "{}: {counts}, in {seconds}.{tenths} s",
            count_of(totals.checks, "check")
        )
    }
}

/// Returns the transports of the cases, each with its revisions.
fn describe_transports(report: &Report) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for case in &report.cases {
        match groups.iter_mut().find(|(name, _)| *name == case.transport) {
            Some((_, revisions)) => revisions.push(&case.revision),
            None => groups.push((&case.transport, vec![&case.revision])),
        }
    }
    let words = groups
        .iter()
        .map(|(transport, revisions)| format!("{} over {transport}", revisions.join(", ")));
    words.collect::<Vec<_>>().join("; ")
}

/// Returns the name and the version that the server of a case gave.
fn server_name(case: &super::CaseReport) -> Option<String> {
    let server = case.server.as_ref()?;
    let text = |key: &str| server.get(key).and_then(serde_json::Value::as_str);
    let name = sanitize_line(text("name")?, 80);
    Some(match text("version") {
        Some(version) => format!("{name} {}", sanitize_line(version, 40)),
        None => name,
    })
}

/// Returns a text as one line for the terminal.
fn line(text: impl AsRef<str>) -> String {
    sanitize_line(text.as_ref(), MAX_LINE_CHARS)
}
