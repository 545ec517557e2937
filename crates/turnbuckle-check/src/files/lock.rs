//! The lock file: the interface of a server as it was accepted, so that a later run reports drift.
//!
//! A server can change what its tools say after somebody has approved it. The file has the definition
//! of each item, for reviews, and its digest.

mod difference;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use turnbuckle_types::base::text::shorten;

use super::file_error::FileError;
use crate::report::Interface;
use crate::report::json::write_value;
use crate::report::{CaseReport, CheckReport, Finding, Level, Report, Verdict};
use difference::differences;

/// The version of the format.
const FORMAT: u32 = 1;

/// The longest lock file, in bytes.
pub const MAX_LOCK_BYTES: usize = 64 * 1024 * 1024;

/// The interface of a server, as a lock file keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The version of the format.
    lock: u32,
    /// The revision in which the server was asked.
    revision: String,
    instructions: Option<String>,
    tools: Items,
    prompts: Items,
    resources: Items,
    templates: Items,
}

/// Items of one kind, by their name or URI.
type Items = BTreeMap<String, Item>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    digest: String,
    definition: Value,
}

impl Lock {
    /// Returns the interface that the server showed in the newest revision, if it showed one.
    #[must_use]
    pub fn from_report(report: &Report) -> Option<Self> {
        let mut cases = report.cases.iter().rev();
        let (case, interface) = cases.find_map(|case| Some((case, case.interface.as_ref()?)))?;
        Some(Self::new(&case.revision, interface))
    }

    fn new(revision: &str, interface: &Interface) -> Self {
        Self {
            lock: FORMAT,
            revision: revision.to_owned(),
            instructions: interface.instructions.clone(),
            tools: items(&interface.tools, "name"),
            prompts: items(&interface.prompts, "name"),
            resources: items(&interface.resources, "uri"),
            templates: items(&interface.templates, "uriTemplate"),
        }
    }

    /// Parses a lock file.
    ///
    /// # Errors
    /// When it is too long, no such JSON, of another format, or a digest is not that of its definition.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        if text.len() > MAX_LOCK_BYTES {
            return Err(FileError::new(
                None,
                format!("a lock file has at most {MAX_LOCK_BYTES} bytes"),
            ));
        }
        let lock: Self = serde_json::from_str(text)
            .map_err(|error| FileError::new(Some(error.line()), error.to_string()))?;
        if lock.lock != FORMAT {
            let reason = format!("the format {} is not known, only {FORMAT}", lock.lock);
            return Err(FileError::new(None, reason));
        }
        for (kind, items) in lock.kinds() {
            for (name, item) in items {
                if item.digest != digest(&item.definition) {
                    let name = shorten(name);
                    let reason = format!(
                        "the digest of the {kind} {name:?} is not that of its definition: make the file \
                         anew with --update-lock"
                    );
                    return Err(FileError::new(None, reason));
                }
            }
        }
        Ok(lock)
    }

    /// Writes the file. The same interface gives the same bytes.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_value(self, out)
    }

    /// Adds what has changed since to the report, as findings of the checks `lock.added`,
    /// `lock.removed` and `lock.changed`.
    pub fn compare(&self, report: &mut Report) {
        let has_interface = |case: &CaseReport| case.interface.is_some();
        let same = |case: &CaseReport| has_interface(case) && case.revision == self.revision;
        let found = report.cases.iter().position(same);
        let found = found.or_else(|| report.cases.iter().rposition(has_interface));
        let Some(case) = found.and_then(|at| report.cases.get_mut(at)) else {
            let note = "the lock was not compared: the server listed nothing";
            return report.notes.push(note.to_owned());
        };
        if case.revision != self.revision {
            report.notes.push(format!(
                "the lock is of revision {}, which was not checked: definitions may differ for that reason alone",
                self.revision
            ));
        }
        let Some(interface) = &case.interface else {
            return;
        };
        let drift = self.drift(&Self::new(&case.revision, interface));
        case.checks.extend(drift);
    }

    /// Returns the three checks.
    fn drift(&self, now: &Self) -> [CheckReport; 3] {
        let mut added = Vec::new();
        let mut removed = Vec::new();
        let mut changed = Vec::new();
        for ((kind, before), (_, after)) in self.kinds().into_iter().zip(now.kinds()) {
            for (name, item) in before {
                match after.get(name) {
                    None => {
                        removed.push(finding(kind, name, "it was in the lock and is gone".into()))
                    }
                    Some(other) if other.digest == item.digest => {}
                    Some(other) => {
                        let differences = differences(&item.definition, &other.definition);
                        changed.push(finding(kind, name, differences));
                    }
                }
            }
            let new = after.keys().filter(|name| !before.contains_key(*name));
            added.extend(new.map(|name| finding(kind, name, "it is not in the lock".into())));
        }
        if self.instructions != now.instructions {
            let differences = differences(
                &self.instructions.as_deref().into(),
                &now.instructions.as_deref().into(),
            );
            changed.push(finding("instructions", "", differences));
        }
        [
            check(
                "lock.added",
                "nothing is listed that the lock does not have",
                added,
            ),
            check(
                "lock.removed",
                "everything in the lock is still listed",
                removed,
            ),
            check("lock.changed", "definitions are those of the lock", changed),
        ]
    }

    fn kinds(&self) -> [(&'static str, &Items); 4] {
        [
            ("tool", &self.tools),
            ("prompt", &self.prompts),
            ("resource", &self.resources),
            ("template", &self.templates),
        ]
    }
}

fn check(id: &str, title: &str, findings: Vec<Finding>) -> CheckReport {
    let verdict = match findings.is_empty() {
        true => Verdict::Pass,
        false => Verdict::Fail,
    };
    CheckReport {
        id: id.to_owned(),
        title: title.to_owned(),
        level: Level::Must,
        verdict,
        reason: None,
        requirement: None,
        findings,
        millis: 0,
    }
}

fn finding(kind: &str, name: &str, sentence: String) -> Finding {
    Finding {
        sentence,
        item: Some(format!("{kind} {}", shorten(name)).trim_end().to_owned()),
        requirement: None,
        messages: Vec::new(),
        fix: "review the change; --update-lock accepts it".to_owned(),
        repeat: String::new(),
        known: false,
    }
}

/// Returns definitions by the value of a member. Further definitions of the same name get a number.
fn items(definitions: &[Value], key: &str) -> Items {
    let mut items = Items::new();
    for definition in definitions {
        let name = definition
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default();
        let mut free = name.to_owned();
        let mut number = 1;
        while items.contains_key(&free) {
            number += 1;
            free = format!("{name} ({number})");
        }
        let definition = sort_members(definition);
        let digest = digest(&definition);
        items.insert(free, Item { digest, definition });
    }
    items
}

/// Returns the SHA-256 of a value, written with its members in the order of their names.
fn digest(value: &Value) -> String {
    let hash = Sha256::digest(sort_members(value).to_string());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Returns a value with the members of its objects in the order of their names.
fn sort_members(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sort_members).collect(),
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            let members = members.into_iter();
            let members: Map<_, _> = members
                .map(|(name, value)| (name.clone(), sort_members(value)))
                .collect();
            members.into()
        }
        value => value.clone(),
    }
}
