//! The report as SARIF 2.1.0, for code scanning: a rule for each check, a result for each finding.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use turnbuckle_types::base::text::shorten_to;

use super::cases::describe;
use super::json::write_value;
use super::markup::https;
use super::matrix::{CommonFinding, Matrix, Row};
use super::{Level, Report};

/// The most results of a run that GitHub reads.
const MAX_RESULTS: usize = 5000;

/// The file that results without a file of their own are about. A server at a URL has none, but code
/// scanning refuses results without a place.
const PLACE: &str = "mcp-server";

/// Writes the report. The results are about the file `mcp-server`, which need not exist.
///
/// # Errors
/// When `out` fails.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let matrix = Matrix::new(report);
    let rules: Vec<_> = matrix.rows.iter().map(rule).collect();
    let findings = matrix.rows.iter().enumerate().flat_map(|(at, row)| {
        let findings = row.findings.iter();
        findings.map(move |common| (at, row, common))
    });
    let results: Vec<_> = findings
        .take(MAX_RESULTS)
        .map(|(at, row, common)| result(report, at, row, common))
        .collect();
    let stopped = report.cases.iter().filter_map(|case| {
        let reason = case.stopped.as_deref()?;
        let text = format!("{} over {}: {reason}", case.revision, case.transport);
        Some(json!({"level": "error", "message": {"text": shorten_to(&text, 800)}}))
    });
    let stopped: Vec<_> = stopped.collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "turnbuckle check",
                "version": report.turnbuckle,
                "semanticVersion": report.turnbuckle,
                "informationUri": "https://github.com/turnbuckle-mcp/turnbuckle",
                "rules": rules,
            }},
            "automationDetails": {"id": format!("turnbuckle-check/{}/", percent_encoded(&report.target))},
            "invocations": [{
                "executionSuccessful": stopped.is_empty(),
                "toolExecutionNotifications": stopped,
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    write_value(&log, out)
}

fn rule(row: &Row<'_>) -> Value {
    let mut rule = Map::new();
    rule.insert("id".into(), row.id.into());
    rule.insert("shortDescription".into(), json!({"text": row.title}));
    let level = sarif_level(row.level);
    rule.insert("defaultConfiguration".into(), json!({"level": level}));
    rule.insert("properties".into(), json!({"tags": ["mcp", row.topic()]}));
    let fix = row
        .findings
        .first()
        .map(|common| common.finding.fix.as_str());
    let mut help = fix.unwrap_or_default().to_owned();
    if let Some(place) = row.requirement() {
        let text = format!(
            "{} ({}, revision {}).",
            place.gist, place.level, place.revision
        );
        rule.insert("fullDescription".into(), json!({"text": text}));
        if let Some(link) = https(&place.link) {
            rule.insert("helpUri".into(), link.into());
            help = format!("{help}\n{link}, line {}", place.line);
        }
    }
    if !help.trim().is_empty() {
        rule.insert("help".into(), json!({"text": help.trim()}));
    }
    rule.into()
}

fn result(report: &Report, rule: usize, row: &Row<'_>, common: &CommonFinding<'_>) -> Value {
    let finding = common.finding;
    let item = finding.item.as_deref().unwrap_or_default();
    let mut text = shorten_to(&finding.sentence, 600);
    if !item.is_empty() {
        text = format!("{}: {text}", shorten_to(item, 120));
    }
    let cases = describe(&common.cases, &report.cases);
    text = format!("{text} ({})", shorten_to(&cases, 200));
    if !finding.fix.is_empty() {
        text = format!("{text}\nFix: {}", finding.fix);
    }
    if !finding.repeat.is_empty() {
        text = format!("{text}\nRepeat: {}", shorten_to(&finding.repeat, 600));
    }
    let target = shorten_to(&report.target, 200);
    let name = match item {
        "" => target,
        item => format!("{target} {}", shorten_to(item, 120)),
    };
    let mut result = json!({
        "ruleId": row.id,
        "ruleIndex": rule,
        "level": sarif_level(row.level),
        "kind": "fail",
        "message": {"text": text},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": {"uri": PLACE},
                "region": {"startLine": 1},
            },
            "logicalLocations": [{"fullyQualifiedName": name, "kind": "resource"}],
        }],
        // Without the sentence: it may quote what changes from run to run.
        "partialFingerprints": {"turnbuckleCheck/v1": format!("{} {} {item}", report.target, row.id)},
    });
    if common.known {
        result["suppressions"] = json!([{"kind": "external", "status": "accepted"}]);
    }
    result
}

fn sarif_level(level: Level) -> &'static str {
    match level {
        Level::Must => "error",
        Level::Should => "warning",
        Level::Note => "note",
    }
}

/// Returns a text in which every character that has a meaning in a URI is encoded.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes().take(400) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}
