//! The report by check: one row for each check over all cases.

use std::collections::HashMap;

use super::{CaseReport, CheckReport, Finding, Level, Report, Totals, Verdict, topic};
use crate::requirement::Citation;

/// The checks of a report, each once.
pub(super) struct Matrix<'r> {
    pub(super) cases: &'r [CaseReport],
    pub(super) rows: Vec<Row<'r>>,
}

/// A check over all cases.
pub(super) struct Row<'r> {
    pub(super) id: &'r str,
    pub(super) title: &'r str,
    pub(super) level: Level,
    /// The check in each case, where it belongs to it.
    pub(super) cells: Vec<Option<&'r CheckReport>>,
    /// The findings, those with the same words as one.
    pub(super) findings: Vec<CommonFinding<'r>>,
}

/// A finding that one or more cases have in common.
pub(super) struct CommonFinding<'r> {
    pub(super) finding: &'r Finding,
    /// The positions of the cases.
    pub(super) cases: Vec<usize>,
    /// True if the baseline lists it in each of them.
    pub(super) known: bool,
}

/// Findings that say the same of several items.
pub(super) struct Group<'a, 'r> {
    /// The first of them.
    pub(super) common: &'a CommonFinding<'r>,
    /// The items, if there are any.
    pub(super) items: Vec<&'r str>,
}

/// The most items of a group that are named.
const MAX_NAMED_ITEMS: usize = 8;

impl<'r> Group<'_, 'r> {
    /// Returns the items that are named, and the number of the others.
    pub(super) fn named_items(&self) -> (&[&'r str], usize) {
        let named = self.items.len().min(MAX_NAMED_ITEMS);
        (&self.items[..named], self.items.len() - named)
    }
}

/// The outcome of a check over all cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Pass,
    Fail,
    Warn,
    Note,
    Known,
    Skip,
}

impl<'r> Matrix<'r> {
    pub(super) fn new(report: &'r Report) -> Self {
        let mut rows: Vec<Row<'r>> = Vec::new();
        let mut positions = HashMap::new();
        for (at, case) in report.cases.iter().enumerate() {
            for check in &case.checks {
                let position = *positions.entry(check.id.as_str()).or_insert_with(|| {
                    rows.push(Row::new(check, report.cases.len()));
                    rows.len() - 1
                });
                if let Some(cell) = rows[position].cells.get_mut(at) {
                    *cell = Some(check);
                }
            }
        }
        // A check that only later cases have would stand behind all others.
        rows.sort_by_key(|row| {
            let of_topic = |other: &CheckReport| other.topic() == row.topic();
            let checks = report.cases.iter().flat_map(|case| &case.checks);
            checks.take_while(|other| !of_topic(other)).count()
        });
        for row in &mut rows {
            row.collect_findings();
        }
        Self {
            cases: &report.cases,
            rows,
        }
    }

    /// Returns the rows by topic, in their order.
    pub(super) fn topics(&self) -> impl Iterator<Item = (&'r str, &[Row<'r>])> {
        let topics = self.rows.chunk_by(|one, next| one.topic() == next.topic());
        topics.filter_map(|rows| Some((rows.first()?.topic(), rows)))
    }

    pub(super) fn totals(&self) -> Totals {
        totals(&self.rows)
    }
}

/// Counts rows by their outcome.
pub(super) fn totals(rows: &[Row<'_>]) -> Totals {
    let mut totals = Totals::default();
    for row in rows {
        totals.checks += 1;
        let count = match row.outcome() {
            Outcome::Pass => &mut totals.passed,
            Outcome::Fail => &mut totals.failed,
            Outcome::Warn => &mut totals.warned,
            Outcome::Note => &mut totals.noted,
            Outcome::Known => &mut totals.known,
            Outcome::Skip => &mut totals.skipped,
        };
        *count += 1;
    }
    totals
}

impl<'r> Row<'r> {
    fn new(check: &'r CheckReport, cases: usize) -> Self {
        Self {
            id: &check.id,
            title: &check.title,
            level: check.level,
            cells: vec![None; cases],
            findings: Vec::new(),
        }
    }

    pub(super) fn topic(&self) -> &'r str {
        topic(self.id)
    }

    fn collect_findings(&mut self) {
        let mut positions = HashMap::new();
        for (at, check) in self.cells.iter().enumerate() {
            for finding in check.iter().flat_map(|check| &check.findings) {
                let words = (finding.sentence.as_str(), finding.item.as_deref());
                let position = *positions.entry(words).or_insert_with(|| {
                    self.findings.push(CommonFinding {
                        finding,
                        cases: Vec::new(),
                        known: true,
                    });
                    self.findings.len() - 1
                });
                let common = &mut self.findings[position];
                common.known &= finding.known;
                if common.cases.last() != Some(&at) {
                    common.cases.push(at);
                }
            }
        }
        self.findings.sort_by_key(|common| common.known);
    }

    /// Returns the findings, those that say the same of several items together.
    pub(super) fn groups(&self) -> Vec<Group<'_, 'r>> {
        let mut groups: Vec<Group<'_, 'r>> = Vec::new();
        let mut positions = HashMap::new();
        for common in &self.findings {
            let what = (&*common.finding.sentence, common.known, &common.cases);
            let position = *positions.entry(what).or_insert_with(|| {
                groups.push(Group {
                    common,
                    items: Vec::new(),
                });
                groups.len() - 1
            });
            groups[position]
                .items
                .extend(common.finding.item.as_deref());
        }
        groups
    }

    /// Returns the positions of the cases with findings.
    pub(super) fn found_in(&self) -> Vec<usize> {
        let has_findings = |check: &CheckReport| !check.findings.is_empty();
        let cells = (0..).zip(&self.cells);
        let found = cells.filter(|(_, cell)| cell.is_some_and(has_findings));
        found.map(|(at, _)| at).collect()
    }

    /// Returns the checks that ran.
    fn run(&self) -> impl Iterator<Item = &'r CheckReport> {
        let checks = self.cells.iter().flatten().copied();
        checks.filter(|check| check.verdict != Verdict::Skip)
    }

    pub(super) fn outcome(&self) -> Outcome {
        match self.findings.first() {
            Some(common) if common.known => Outcome::Known,
            Some(_) => self.level.verdict().into(),
            None if self.run().next().is_none() => Outcome::Skip,
            None => Outcome::Pass,
        }
    }

    /// Returns the reason why it ran in no case.
    pub(super) fn reason(&self) -> Option<&'r str> {
        let mut checks = self.cells.iter().flatten();
        checks.find_map(|check| check.reason.as_deref())
    }

    /// Returns the place in the newest revision that has a finding, or else in the newest that has the rule.
    pub(super) fn requirement(&self) -> Option<&'r Citation> {
        let of_check = |check: &&'r CheckReport| {
            let of_finding = |finding: &'r Finding| finding.requirement.as_ref();
            let found = check.findings.iter().find_map(of_finding);
            check.requirement.as_ref().or(found)
        };
        let checks = || self.cells.iter().flatten().rev();
        let mut broken = checks().filter(|check| !check.findings.is_empty());
        let place = broken.find_map(of_check);
        place.or_else(|| checks().find_map(of_check))
    }
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Fail => Self::Fail,
            Verdict::Warn => Self::Warn,
            Verdict::Note => Self::Note,
            Verdict::Skip => Self::Skip,
        }
    }
}

impl Outcome {
    /// Returns the outcome of a check in one case.
    pub(super) fn from_check(check: &CheckReport) -> Self {
        match check.is_known() {
            true => Self::Known,
            false => check.verdict.into(),
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Note => "note",
            Self::Known => "known",
            Self::Skip => "skip",
        }
    }
}

/// Returns a number with its noun.
pub(super) fn count_of(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

impl Totals {
    /// Returns the counts that are not zero, as `3 pass, 1 fail`.
    #[must_use]
    pub fn describe(&self) -> String {
        let counts = [
            (self.failed, "fail"),
            (self.warned, "warn"),
            (self.noted, "note"),
            (self.known, "known"),
            (self.passed, "pass"),
            (self.skipped, "skip"),
        ];
        let words = counts.iter().filter(|(count, _)| *count > 0);
        let words = words.map(|(count, word)| format!("{count} {word}"));
        words.collect::<Vec<_>>().join(", ")
    }
}
