//! The report as one HTML file, without scripts and without anything from the network.

use std::io::{self, Write};

use super::cases::describe;
use super::markup::{Text, https};
use super::matrix::{Group, Matrix, Outcome, Row, count_of, totals};
use super::{Finding, Level, Report};

/// The most bytes of the file. What comes after that is counted, and stands in the JSON report.
const MAX_BYTES: usize = 290_000;

/// The most bytes of the findings, so that the table of all checks stands after them.
const MAX_FINDING_BYTES: usize = 170_000;

/// The most findings of a check that are shown.
const MAX_FINDINGS: usize = 20;

/// The most cases that the table has columns for.
const MAX_CASES: usize = 24;

const STYLE: &str = include_str!("html.css");

/// Writes the report: the numbers, the findings with their messages, and the table of all checks over
/// all cases. The file has at most 300 kB.
///
/// # Errors
/// When `out` fails.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(render(report).as_bytes())
}

fn render(report: &Report) -> String {
    let matrix = Matrix::new(report);
    let mut page = head(report, &matrix);
    page += &findings(&matrix);
    let end = foot(report);
    let room = MAX_BYTES.saturating_sub(page.len() + end.len());
    page += &table(&matrix, room);
    page + &end
}

fn head(report: &Report, matrix: &Matrix<'_>) -> String {
    let target = Text::cut(&report.target, 200);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>MCP check of {target}</title>\n<style>\n{STYLE}</style></head><body>\n\
         <header><p class=\"over\">MCP check</p><h1>{target}</h1>\n<p class=\"about\">"
    );
    let server = report.cases.iter().rev().find_map(|case| {
        let server = case.server.as_ref()?;
        let text = |key: &str| server.get(key).and_then(serde_json::Value::as_str);
        Some((text("name")?, text("version").unwrap_or_default()))
    });
    if let Some((name, version)) = server {
        page += &format!("{} {} · ", Text::cut(name, 80), Text::cut(version, 40));
    }
    page += &format!(
        "{} · {}.{} s · turnbuckle {}</p></header>\n<ul class=\"totals\">",
        count_of(report.cases.len(), "case"),
        report.millis / 1000,
        report.millis % 1000 / 100,
        Text::cut(&report.turnbuckle, 40)
    );
    let totals = matrix.totals();
    for (count, class, label) in [
        (totals.failed, "fail", "fail"),
        (totals.warned, "warn", "warn"),
        (totals.noted, "note", "note"),
        (totals.known, "known", "known"),
        (totals.passed, "pass", "pass"),
        (totals.skipped, "skip", "skip"),
    ] {
        let zero = if count == 0 { " zero" } else { "" };
        page += &format!("<li class=\"{class}{zero}\"><b>{count}</b> {label}</li>");
    }
    page += "</ul>\n";
    for case in report.cases.iter().take(MAX_CASES) {
        if let Some(reason) = &case.stopped {
            page += &format!(
                "<p class=\"stopped\"><b>{} over {} stopped:</b> {}</p>\n",
                Text::cut(&case.revision, 40),
                Text::cut(&case.transport, 40),
                Text::cut(reason, 600)
            );
        }
    }
    page
}

/// Returns the section with the findings, up to a number of bytes.
fn findings(matrix: &Matrix<'_>) -> String {
    let rows: Vec<_> = matrix
        .rows
        .iter()
        .filter(|row| !row.findings.is_empty())
        .collect();
    if rows.is_empty() {
        return "<section><h2>Findings</h2><p>None.</p></section>\n".to_owned();
    }
    let mut section = "<section><h2>Findings</h2>\n".to_owned();
    let severity = |row: &Row<'_>| match row.outcome() {
        Outcome::Fail => 0,
        Outcome::Warn => 1,
        Outcome::Note => 2,
        Outcome::Known => 3,
        Outcome::Pass | Outcome::Skip => 4,
    };
    let mut ordered = rows;
    ordered.sort_by_key(|row| severity(row));
    for (at, row) in ordered.iter().enumerate() {
        let article = article(row, matrix);
        if section.len() + article.len() > MAX_FINDING_BYTES {
            let left = ordered.len() - at;
            section += &format!(
                "<p class=\"cut\">The findings of {left} more checks do not fit here: they are in the JSON report.</p>\n"
            );
            break;
        }
        section += &article;
    }
    section + "</section>\n"
}

fn article(row: &Row<'_>, matrix: &Matrix<'_>) -> String {
    let outcome = row.outcome().as_str();
    let mut article = format!(
        "<article id=\"{id}\" class=\"{outcome}\"><h3><span class=\"tag\">{outcome}</span> <code>{id}</code> {title}</h3>\n",
        id = Text::new(row.id),
        title = with_code(row.title)
    );
    if let Some(place) = row.requirement() {
        let (gist, level) = (Text::cut(&place.gist, 200), Text::cut(&place.level, 20));
        article += &format!("<p class=\"rule\"><b>{level}</b> {gist}");
        if let Some(link) = https(&place.link) {
            article += &format!(
                " · <a rel=\"noreferrer\" href=\"{}\">{} {}</a>, line {}",
                Text::cut(link, 300),
                Text::cut(&place.revision, 40),
                Text::cut(&place.page, 120),
                place.line
            );
        }
        article += "</p>\n";
    } else if row.level == Level::Note {
        article += "<p class=\"rule\">No rule of the specification.</p>\n";
    }
    article += "<ul class=\"found\">\n";
    let groups = row.groups();
    for group in groups.iter().take(MAX_FINDINGS) {
        article += &group_item(group, matrix);
    }
    if let omitted @ 1.. = groups.len().saturating_sub(MAX_FINDINGS) {
        article += &format!("<li>… and {omitted} more</li>\n");
    }
    article += "</ul>\n";
    if let Some(first) = row.findings.first() {
        article += &advice(first.finding);
    }
    article + "</article>\n"
}

fn group_item(group: &Group<'_, '_>, matrix: &Matrix<'_>) -> String {
    let common = group.common;
    let finding = common.finding;
    let mut item = "<li>".to_owned();
    let (named, others) = group.named_items();
    for name in named {
        item += &format!("<code>{}</code> ", Text::cut(name, 120));
    }
    if others > 0 {
        item += &format!("and {others} more: ");
    }
    item += &with_code(&finding.sentence);
    let cases = describe(&common.cases, matrix.cases);
    let known = if common.known { " · known" } else { "" };
    item += &format!(
        " <span class=\"where\">{}{known}</span>",
        Text::cut(&cases, 300)
    );
    let messages = finding.messages.len().min(super::MAX_MESSAGES);
    if messages > 0 {
        let count = count_of(messages, "message");
        item += &format!("<details><summary>{count}</summary><pre>");
        for message in finding.messages.iter().take(messages) {
            item += &format!(
                "{} {}\n",
                Text::cut(&message.direction, 2),
                Text::cut(&message.text, 1200)
            );
        }
        item += "</pre></details>";
    }
    item + "</li>\n"
}

/// Returns a sentence in which what stands between grave accents is code.
fn with_code(sentence: &str) -> String {
    let text = Text::cut(sentence, 600).to_string();
    let parts: Vec<_> = text.split('`').collect();
    if parts.len() % 2 == 0 {
        return text;
    }
    let parts = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        0 => (*part).to_owned(),
        _ => format!("<code>{part}</code>"),
    });
    parts.collect()
}

fn advice(finding: &Finding) -> String {
    let mut advice = String::new();
    if !finding.fix.is_empty() {
        advice += &format!(
            "<p class=\"fix\"><b>Fix</b> {}</p>\n",
            with_code(&finding.fix)
        );
    }
    if !finding.repeat.is_empty() {
        let command = Text::cut(&finding.repeat, 600);
        advice += &format!("<p class=\"repeat\"><b>Repeat</b> <code>{command}</code></p>\n");
    }
    advice
}

/// Returns the table of all checks over all cases, up to a number of bytes.
fn table(matrix: &Matrix<'_>, room: usize) -> String {
    let shown = matrix.cases.len().min(MAX_CASES);
    let mut table = "<section><h2>All checks</h2>\n".to_owned();
    if let omitted @ 1.. = matrix.cases.len() - shown {
        table += &format!("<p class=\"cut\">{omitted} more cases have no column.</p>\n");
    }
    table += "<div class=\"scroll\"><table><thead><tr><th>check</th>";
    for case in matrix.cases.iter().take(shown) {
        table += &format!(
            "<th class=\"case\"><span>{}<br>{}</span></th>",
            Text::cut(&case.revision, 20),
            Text::cut(&case.transport, 12)
        );
    }
    table += "</tr></thead>\n";
    let end = "</table></div></section>\n";
    for (topic, rows) in matrix.topics() {
        table += &format!(
            "<tbody><tr class=\"topic\"><th colspan=\"{}\">{} <small>{}</small></th></tr>\n",
            shown + 1,
            Text::new(topic),
            totals(rows).describe()
        );
        for row in rows {
            let line = table_row(row, shown);
            if table.len() + line.len() + end.len() + 200 > room {
                table += "</tbody></table></div><p class=\"cut\">The other checks do not fit here: they are in the JSON report.</p></section>\n";
                return table;
            }
            table += &line;
        }
        table += "</tbody>\n";
    }
    table + end
}

fn table_row(row: &Row<'_>, shown: usize) -> String {
    let (id, title) = (Text::new(row.id), with_code(row.title));
    let id = match row.findings.is_empty() {
        true => format!("<code>{id}</code>"),
        false => format!("<a href=\"#{id}\"><code>{id}</code></a>"),
    };
    let mut line = format!("<tr><th>{id} {title}</th>");
    for cell in row.cells.iter().take(shown) {
        line += &match cell {
            None => "<td></td>".to_owned(),
            Some(check) => {
                let outcome = Outcome::from_check(check);
                let sign = match outcome {
                    Outcome::Pass => "✓",
                    Outcome::Fail => "✗",
                    Outcome::Warn => "!",
                    Outcome::Note => "i",
                    Outcome::Known => "~",
                    Outcome::Skip => "–",
                };
                let reason = check.reason.as_deref().map(|reason| Text::cut(reason, 80));
                let title =
                    reason.map_or_else(String::new, |reason| format!(" title=\"{reason}\""));
                format!("<td class=\"{}\"{title}>{sign}</td>", outcome.as_str())
            }
        };
    }
    line + "</tr>\n"
}

fn foot(report: &Report) -> String {
    let mut foot = "<footer>".to_owned();
    for note in report.notes.iter().take(30) {
        foot += &format!("<p>{}</p>\n", Text::cut(note, 300));
    }
    if let omitted @ 1.. = report.notes.len().saturating_sub(30) {
        foot += &format!("<p>… and {omitted} more notes</p>\n");
    }
    foot + "<p>✓ pass · ✗ fail: a MUST is broken · ! warn: a SHOULD is broken · i note · ~ known: the baseline lists it · \
            – skip: the reason stands in its title</p></footer>\n</body></html>\n"
}
