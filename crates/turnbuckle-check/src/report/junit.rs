//! The report as JUnit XML: a suite for each case, a test for each check.

use std::io::{self, Write};

use super::markup::Text;
use super::matrix::Outcome;
use super::{CaseReport, CheckReport, Finding, MAX_FINDINGS, Report};

/// Writes the report. A broken MUST is a failure; broken SHOULDs and notes stand in the output of their
/// tests; known findings are skipped tests.
///
/// # Errors
/// When `out` fails.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    let counts = report.cases.iter().map(Counts::count);
    let all = counts.fold(Counts::default(), |all, case| Counts {
        tests: all.tests + case.tests,
        failures: all.failures + case.failures,
        errors: all.errors + case.errors,
        skipped: all.skipped + case.skipped,
    });
    writeln!(
        out,
        r#"<testsuites name="turnbuckle check {}" {all} time="{}">"#,
        Text::cut(&report.target, 200),
        seconds(report.millis)
    )?;
    for case in &report.cases {
        write_case(case, &mut out)?;
    }
    writeln!(out, "</testsuites>")?;
    out.flush()
}

/// The numbers of tests of a suite.
#[derive(Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    fn count(case: &CaseReport) -> Self {
        let with = |wanted: &[Outcome]| {
            let outcomes = case.checks.iter().map(Outcome::from_check);
            outcomes.filter(|outcome| wanted.contains(outcome)).count()
        };
        let errors = usize::from(case.stopped.is_some());
        Self {
            tests: case.checks.len() + errors,
            failures: with(&[Outcome::Fail]),
            errors,
            skipped: with(&[Outcome::Skip, Outcome::Known]),
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            tests,
            failures,
            errors,
            skipped,
        } = self;
        write!(
            f,
            r#"tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}""#
        )
    }
}

fn write_case(case: &CaseReport, out: &mut dyn Write) -> io::Result<()> {
    let name = format!("{} over {}", case.revision, case.transport);
    let name = Text::cut(&name, 100);
    let millis = case.checks.iter().map(|check| check.millis).sum();
    let (counts, time) = (Counts::count(case), seconds(millis));
    writeln!(out, r#"  <testsuite name="{name}" {counts} time="{time}">"#)?;
    for check in &case.checks {
        write_check(&name, check, out)?;
    }
    if let Some(reason) = &case.stopped {
        let reason = Text::cut(reason, 2000);
        writeln!(
            out,
            r#"    <testcase classname="{name}" name="the whole case"><error message="{reason}"/></testcase>"#
        )?;
    }
    writeln!(out, "  </testsuite>")
}

fn write_check(case: &Text<'_>, check: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    let (id, time) = (Text::new(&check.id), seconds(check.millis));
    let head = format!(r#"    <testcase classname="{case}" name="{id}" time="{time}""#);
    let title = Text::new(&check.title);
    match Outcome::from_check(check) {
        Outcome::Pass => writeln!(out, "{head}/>"),
        Outcome::Skip => {
            let reason = check.reason.as_deref().unwrap_or_default();
            let reason = Text::cut(reason, 2000);
            writeln!(out, r#"{head}><skipped message="{reason}"/></testcase>"#)
        }
        Outcome::Known => {
            writeln!(
                out,
                r#"{head}><skipped message="known: {title}"/></testcase>"#
            )
        }
        Outcome::Fail => {
            writeln!(out, r#"{head}><failure message="{title}" type="must">"#)?;
            write_findings(check, out)?;
            writeln!(out, "</failure></testcase>")
        }
        Outcome::Warn | Outcome::Note => {
            let level = check.level.as_str();
            writeln!(out, "{head}><system-out>{level}: {title}")?;
            write_findings(check, out)?;
            writeln!(out, "</system-out></testcase>")
        }
    }
}

fn write_findings(check: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    for finding in check.findings.iter().take(MAX_FINDINGS) {
        write_finding(finding, out)?;
    }
    if let omitted @ 1.. = check.findings.len().saturating_sub(MAX_FINDINGS) {
        writeln!(out, "… and {omitted} more")?;
    }
    Ok(())
}

fn write_finding(finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let known = if finding.known { "known: " } else { "" };
    let item = finding.item.as_deref().map(|item| Text::cut(item, 200));
    let item = item.map_or_else(String::new, |item| format!("{item}: "));
    writeln!(out, "{known}{item}{}", Text::cut(&finding.sentence, 2000))?;
    if let Some(place) = &finding.requirement {
        writeln!(
            out,
            "  page: {} line {}",
            Text::cut(&place.link, 300),
            place.line
        )?;
    }
    for (name, text) in [("fix", &finding.fix), ("repeat", &finding.repeat)] {
        if !text.is_empty() {
            writeln!(out, "  {name}: {}", Text::cut(text, 2000))?;
        }
    }
    for message in finding.messages.iter().take(super::MAX_MESSAGES) {
        writeln!(
            out,
            "  {} {}",
            Text::cut(&message.direction, 2),
            Text::cut(&message.text, 2000)
        )?;
    }
    Ok(())
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}
