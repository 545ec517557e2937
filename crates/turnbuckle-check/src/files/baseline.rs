//! The baseline: findings that are known, which are reported as known and do not fail a run.
//!
//! The file is TOML, one `[[known]]` for each finding. The expected-failures file of the official
//! conformance suite is read too.

mod official;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::Deserialize;
use turnbuckle_types::base::nearest::did_you_mean;
use turnbuckle_types::base::text::{mark_hidden, shorten};

use super::file_error::{FileError, line_at};
use crate::report::{CaseReport, CheckReport, Kind, Report, Verdict};

/// The longest baseline, in bytes.
pub const MAX_BASELINE_BYTES: usize = 4 * 1024 * 1024;

const HEAD: &str = "\
# Findings that `turnbuckle check --baseline` knows: they do not fail. `--update-baseline` writes this file.
# revision, transport and item narrow an entry; reason is for the reader.
";

/// A list of known findings.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    entries: Vec<Entry>,
    notes: Vec<String>,
}

/// An entry of a baseline.
#[derive(Debug, Clone)]
struct Entry {
    line: usize,
    /// The name in the file: the id of a check, or a scenario of the official suite.
    name: String,
    checks: Vec<String>,
    filter: Filter,
}

/// The table of an entry in the file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    check: String,
    revision: Option<String>,
    transport: Option<String>,
    item: Option<String>,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    known: Vec<toml::Spanned<Filter>>,
}

impl Baseline {
    /// Parses a baseline. `ids` are the ids of all checks.
    ///
    /// # Errors
    /// When it is too long, no such TOML, or names a check that does not exist.
    pub fn parse(text: &str, ids: &[&str]) -> Result<Self, FileError> {
        check_length(text)?;
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| line_at(text, span.start));
            FileError::new(line, error.message())
        })?;
        let entries = file.known.into_iter().map(|known| {
            let line = line_at(text, known.span().start);
            let filter = known.into_inner();
            let name = filter.check.clone();
            if !ids.contains(&name.as_str()) {
                let hint = did_you_mean(&name, ids.iter().copied());
                let hint = hint.map_or_else(String::new, |hint| format!(": {hint}"));
                let reason = format!("there is no check {:?}{hint}", shorten(&name));
                return Err(FileError::new(Some(line), reason));
            }
            Ok(Entry {
                line,
                checks: vec![name.clone()],
                name,
                filter,
            })
        });
        Ok(Self {
            entries: entries.collect::<Result<_, _>>()?,
            notes: Vec::new(),
        })
    }

    /// Parses the expected-failures file (YAML) of the official conformance suite. Scenarios without a
    /// counterpart among the checks become notes of the report.
    ///
    /// # Errors
    /// When it is too long, or no such YAML.
    pub fn parse_expected_failures(text: &str, kind: Kind) -> Result<Self, FileError> {
        check_length(text)?;
        let mut baseline = Self::default();
        for (line, scenario) in official::parse(text, kind)? {
            let checks = official::counterparts(&scenario, kind);
            if checks.is_empty() {
                let scenario = shorten(&scenario);
                baseline.notes.push(format!(
                    "line {line} of the baseline: no check is the counterpart of the scenario {scenario}"
                ));
            }
            baseline.entries.push(Entry {
                line,
                name: scenario,
                checks: checks.iter().map(|id| (*id).to_owned()).collect(),
                filter: Filter::default(),
            });
        }
        Ok(baseline)
    }

    /// Marks the findings that the baseline lists as known, and notes the entries whose checks ran and
    /// found nothing.
    pub fn apply(&self, report: &mut Report) {
        let mut used = BTreeSet::new();
        for case in &mut report.cases {
            for check in &mut case.checks {
                for finding in &mut check.findings {
                    let item = finding.item.as_deref();
                    for (at, entry) in self.entries.iter().enumerate() {
                        if entry.covers(&check.id, &case.revision, &case.transport)
                            && entry.filter.covers_item(item)
                        {
                            finding.known = true;
                            used.insert(at);
                        }
                    }
                }
            }
        }
        report.notes.extend(self.notes.iter().cloned());
        for (at, entry) in self.entries.iter().enumerate() {
            if !used.contains(&at) && entry.ran(report) {
                report.notes.push(format!(
                    "line {} of the baseline: {} is no longer found; remove the entry",
                    entry.line,
                    shorten(&entry.name)
                ));
            }
        }
    }

    /// Returns the text of a baseline that lists all findings of a report. Reasons stay from this one.
    #[must_use]
    pub fn renew(&self, report: &Report) -> String {
        let mut text = HEAD.to_owned();
        let mut last = String::new();
        for mut filter in filters(report) {
            let mut entries = self.entries.iter();
            let same = entries.find(|entry| entry.filter.is_same_place(&filter));
            filter.reason = same.and_then(|entry| entry.filter.reason.clone());
            text += "\n";
            if filter.check != last {
                let title = title(report, &filter.check);
                text += &format!("# {title}\n");
                last.clone_from(&filter.check);
            }
            text += &filter.to_toml();
        }
        text
    }
}

impl Entry {
    /// Returns whether the entry is about this check in this case.
    fn covers(&self, id: &str, revision: &str, transport: &str) -> bool {
        let matches =
            |wanted: &Option<String>, value: &str| wanted.as_deref().is_none_or(|it| it == value);
        self.checks.iter().any(|check| check == id)
            && matches(&self.filter.revision, revision)
            && matches(&self.filter.transport, transport)
    }

    /// Returns whether a check that the entry is about ran.
    fn ran(&self, report: &Report) -> bool {
        report.cases.iter().any(|case| {
            let mut ran = case
                .checks
                .iter()
                .filter(|check| check.verdict != Verdict::Skip);
            ran.any(|check| self.covers(&check.id, &case.revision, &case.transport))
        })
    }
}

impl Filter {
    /// Returns the table of the entry.
    fn to_toml(&self) -> String {
        let members = [
            ("check", Some(&self.check)),
            ("revision", self.revision.as_ref()),
            ("transport", self.transport.as_ref()),
            ("item", self.item.as_ref()),
            ("reason", self.reason.as_ref()),
        ];
        let lines = members
            .iter()
            .filter_map(|(name, value)| Some(format!("{name} = {}\n", toml_string((*value)?))));
        format!("[[known]]\n{}", lines.collect::<String>())
    }

    fn covers_item(&self, item: Option<&str>) -> bool {
        self.item.is_none() || self.item.as_deref() == item
    }

    /// Returns whether two entries are alike but for their reason.
    fn is_same_place(&self, other: &Self) -> bool {
        let place = |filter: &Self| {
            let Self {
                check,
                revision,
                transport,
                item,
                reason: _,
            } = filter.clone();
            (check, revision, transport, item)
        };
        place(self) == place(other)
    }
}

/// The id of a check, and an item.
type IdAndItem<'r> = (&'r str, Option<&'r str>);

/// Returns the entries that cover all findings of a report: one for a check and an item if every case
/// that ran the check has the finding, or else one for each case.
fn filters(report: &Report) -> Vec<Filter> {
    let mut places: Vec<(IdAndItem<'_>, Vec<&CaseReport>)> = Vec::new();
    for case in &report.cases {
        for check in &case.checks {
            for finding in &check.findings {
                let place = (check.id.as_str(), finding.item.as_deref());
                match places.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, cases))
                        if cases.last().is_some_and(|last| std::ptr::eq(*last, case)) => {}
                    Some((_, cases)) => cases.push(case),
                    None => places.push((place, vec![case])),
                }
            }
        }
    }
    places.sort_by_key(|(place, _)| *place);
    let ran = |id: &str| {
        let is_run = |check: &CheckReport| check.id == id && check.verdict != Verdict::Skip;
        report
            .cases
            .iter()
            .filter(|case| case.checks.iter().any(is_run))
            .count()
    };
    let mut filters = Vec::new();
    for ((id, item), cases) in places {
        let filter = Filter {
            check: id.to_owned(),
            item: item.map(str::to_owned),
            ..Filter::default()
        };
        if cases.len() == ran(id) {
            filters.push(filter);
            continue;
        }
        filters.extend(cases.iter().map(|case| Filter {
            revision: Some(case.revision.clone()),
            transport: Some(case.transport.clone()),
            ..filter.clone()
        }));
    }
    filters
}

/// Returns a text as a string of TOML. Hidden characters are escapes.
fn toml_string(text: &str) -> String {
    let mut string = "\"".to_owned();
    for (char, is_hidden) in mark_hidden(text) {
        match char {
            '"' | '\\' => string.extend(['\\', char]),
            _ if is_hidden => string += &format!("\\U{:08x}", u32::from(char)),
            char => string.push(char),
        }
    }
    string + "\""
}

fn title<'r>(report: &'r Report, id: &str) -> &'r str {
    let mut checks = report.cases.iter().flat_map(|case| &case.checks);
    checks
        .find(|check| check.id == id)
        .map_or("", |check| &check.title)
}

fn check_length(text: &str) -> Result<(), FileError> {
    if text.len() > MAX_BASELINE_BYTES {
        let reason = format!("a baseline has at most {MAX_BASELINE_BYTES} bytes");
        return Err(FileError::new(None, reason));
    }
    Ok(())
}
