//! The report in Markdown, for the summary of a CI job or a comment.

use std::fmt;
use std::io::{self, Write};

use turnbuckle_types::base::text::{Foreign, one_line};

use super::Report;
use super::cases::describe;
use super::markup::https;
use super::matrix::{Matrix, Outcome, Row, count_of};

/// The most checks with findings that are shown. A summary may have 1 MiB.
const MAX_ROWS: usize = 200;

/// The most findings of a check that are shown.
const MAX_FINDINGS: usize = 5;

/// Writes the report: a line with the numbers, a table of the checks with findings, and the notes.
///
/// # Errors
/// When `out` fails.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let matrix = Matrix::new(report);
    let totals = matrix.totals();
    writeln!(out, "## MCP check of {}\n", Escaped(&report.target, 200))?;
    writeln!(
        out,
        "{} in {}: **{}**\n",
        count_of(totals.checks, "check"),
        count_of(report.cases.len(), "case"),
        totals.describe()
    )?;
    for case in &report.cases {
        if let Some(reason) = &case.stopped {
            let name = format!("{} over {}", case.revision, case.transport);
            writeln!(
                out,
                "- {} stopped: {}",
                Escaped(&name, 100),
                Escaped(reason, 600)
            )?;
        }
    }
    let is_shown = |row: &&Row<'_>| !row.findings.is_empty() && row.outcome() != Outcome::Known;
    let rows: Vec<_> = matrix.rows.iter().filter(is_shown).collect();
    if !rows.is_empty() {
        writeln!(out, "\n| | check | found | where |\n|---|---|---|---|")?;
        for row in rows.iter().take(MAX_ROWS) {
            write_row(row, &matrix, out)?;
        }
    }
    if let omitted @ 1.. = rows.len().saturating_sub(MAX_ROWS) {
        writeln!(out, "\n… and {omitted} more checks with findings")?;
    }
    if !report.notes.is_empty() {
        writeln!(out)?;
    }
    for note in report.notes.iter().take(MAX_ROWS) {
        writeln!(out, "- {}", Escaped(note, 600))?;
    }
    Ok(())
}

fn write_row(row: &Row<'_>, matrix: &Matrix<'_>, out: &mut dyn Write) -> io::Result<()> {
    let sign = match row.outcome() {
        Outcome::Fail => "❌ fail",
        Outcome::Warn => "⚠️ warn",
        outcome => outcome.as_str(),
    };
    let link = row.requirement().and_then(|place| https(&place.link));
    let title = Escaped(row.title, 200);
    let check = match link {
        // A link ends at spaces and parentheses, which no page of the specification has.
        Some(link) if !link.contains([' ', '(', ')', '<', '>', '|']) => {
            format!("[`{}`]({link}) {title}", row.id)
        }
        _ => format!("`{}` {title}", row.id),
    };
    let mut found = String::new();
    let groups = row.groups();
    for group in groups.iter().take(MAX_FINDINGS) {
        let (named, others) = group.named_items();
        let names = named.iter().map(|item| Escaped(item, 100).to_string());
        found += &names.collect::<Vec<_>>().join(", ");
        if others > 0 {
            found += &format!(" and {others} more");
        }
        let colon = if named.is_empty() { "" } else { ": " };
        let sentence = Escaped(&group.common.finding.sentence, 300);
        found += &format!("{colon}{sentence}<br>");
    }
    if let omitted @ 1.. = groups.len().saturating_sub(MAX_FINDINGS) {
        found += &format!("… and {omitted} more<br>");
    }
    if let Some(first) = row.findings.first() {
        found += &format!("*{}*", Escaped(&first.finding.fix, 300));
    }
    let cases = describe(&row.found_in(), matrix.cases);
    writeln!(
        out,
        "| {sign} | {check} | {found} | {} |",
        Escaped(&cases, 200)
    )
}

/// Text of the checked side as one line in Markdown, in which no character has a meaning of its own.
struct Escaped<'a>(&'a str, usize);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        // Foreign cuts first: `one_line` reads all of its text.
        let text = one_line(&Foreign::cut(self.0, self.1).to_string(), self.1);
        for char in text.chars() {
            match char {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                // Also the colon and the point: a bare address would become a link.
                char if char.is_ascii_punctuation() => write!(f, "\\{char}")?,
                char => f.write_char(char)?,
            }
        }
        Ok(())
    }
}
