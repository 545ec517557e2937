//! The report of a run: what was checked, what was found, and where the specification says so.
//!
//! [`Report`] is plain data; serialized it is the JSON report. Each other form is a function that
//! writes it: [`terminal`], [`junit`], [`sarif`], [`html`], [`markdown`] and [`badge`]. Strings of
//! the checked side stand in it as they came; each form escapes and bounds them.

pub mod badge;
mod cases;
pub mod html;
mod interface;
pub mod json;
pub mod junit;
pub mod markdown;
mod markup;
mod matrix;
pub mod sarif;
pub mod terminal;
#[cfg(test)]
pub(crate) mod tests;

use serde::{Deserialize, Serialize};

use crate::requirement::Citation;

pub use interface::Interface;

/// The most findings that a check keeps in one case.
pub const MAX_FINDINGS: usize = 50;

/// The most messages that a finding keeps as evidence.
pub const MAX_MESSAGES: usize = 20;

/// The most characters of a sentence, an item or a reason.
const MAX_TEXT_CHARS: usize = 600;

/// The most characters of a message that is kept as evidence.
const MAX_MESSAGE_CHARS: usize = 2000;

/// The most findings of all checks together.
const MAX_ALL_FINDINGS: usize = 10_000;

/// The most bytes of the messages of all findings together.
const MAX_ALL_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// The most notes.
const MAX_NOTES: usize = 200;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of turnbuckle.
    pub turnbuckle: String,
    /// The name of the target.
    pub target: String,
    /// The side that was checked.
    pub kind: Kind,
    /// One entry for each revision and transport.
    pub cases: Vec<CaseReport>,
    /// Remarks of the run beside its findings.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The duration of the run.
    #[serde(default)]
    pub millis: u64,
}

/// The side that was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A server.
    Server,
    /// A client.
    Client,
}

/// The checks in one revision over one transport.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// The date of the revision.
    pub revision: String,
    /// The word for the way that messages took, such as `http`.
    pub transport: String,
    /// The name and version that the server gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<serde_json::Value>,
    /// The reason why the case ended before its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The checks, in the order of the list of checks.
    pub checks: Vec<CheckReport>,
    /// The lists of the server, for a lock file.
    #[serde(skip)]
    pub interface: Option<Interface>,
}

/// A check in one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The id, such as `http.origin-403`. Its topic stands before the dot.
    pub id: String,
    /// The rule, as a sentence without its full stop.
    pub title: String,
    /// The level of the rule.
    pub level: Level,
    /// The outcome.
    pub verdict: Verdict,
    /// The reason why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The place in the specification that has the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<Citation>,
    /// The breaches of the rule.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The duration of the check.
    #[serde(default)]
    pub millis: u64,
}

/// The level of a rule, from the strictest to the mildest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// MUST: a finding is a failure.
    Must,
    /// SHOULD: a finding is a warning.
    Should,
    /// No rule of the specification: a finding is a note.
    Note,
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The rule is kept.
    Pass,
    /// A MUST is broken.
    Fail,
    /// A SHOULD is broken.
    Warn,
    /// Something is worth knowing.
    Note,
    /// The check did not run.
    Skip,
}

/// A breach of a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The breach, as one sentence.
    pub sentence: String,
    /// The tool, prompt, resource or other item that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The place in the specification that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<Citation>,
    /// The messages that show it.
    #[serde(default)]
    pub messages: Vec<MessageLine>,
    /// The remedy.
    pub fix: String,
    /// The command that repeats it.
    pub repeat: String,
    /// True if the baseline lists it.
    #[serde(default)]
    pub known: bool,
}

/// A message that was exchanged, shortened and without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageLine {
    /// `→` for a message to the checked side, `←` for one of it.
    pub direction: String,
    /// The message.
    pub text: String,
}

/// The number of checks and findings of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Checks, each counted once over all cases.
    pub checks: usize,
    /// Checks that passed wherever they ran.
    pub passed: usize,
    /// Checks of a MUST with a finding that is not known.
    pub failed: usize,
    /// Checks of a SHOULD with a finding that is not known.
    pub warned: usize,
    /// Checks without a rule of the specification, with a finding that is not known.
    pub noted: usize,
    /// Checks whose findings are all known.
    pub known: usize,
    /// Checks that ran in no case.
    pub skipped: usize,
}

impl Level {
    /// Returns the verdict of a check of this level with findings.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Must => Verdict::Fail,
            Self::Should => Verdict::Warn,
            Self::Note => Verdict::Note,
        }
    }

    /// Returns the key word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::Note => "note",
        }
    }
}

impl Verdict {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Note => "note",
            Self::Skip => "skip",
        }
    }
}

impl CheckReport {
    /// Returns whether there are findings, and the baseline lists all of them.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.findings.is_empty() && self.findings.iter().all(|finding| finding.known)
    }

    /// Returns the part of the id before the dot.
    #[must_use]
    pub fn topic(&self) -> &str {
        topic(&self.id)
    }
}

impl Report {
    /// Returns the findings that the baseline does not list, of checks of this level or a stricter one.
    pub fn findings(&self, mildest: Level) -> impl Iterator<Item = (&CheckReport, &Finding)> {
        let checks = self.cases.iter().flat_map(|case| &case.checks);
        let checks = checks.filter(move |check| check.level <= mildest);
        checks.flat_map(|check| {
            let findings = check.findings.iter().filter(|finding| !finding.known);
            findings.map(move |finding| (check, finding))
        })
    }

    /// Returns whether no check of this level or a stricter one has a finding that the baseline does
    /// not list, and every case was checked to its end.
    #[must_use]
    pub fn is_clean(&self, mildest: Level) -> bool {
        let is_whole = self.cases.iter().all(|case| case.stopped.is_none());
        is_whole && self.findings(mildest).next().is_none()
    }

    /// Counts the checks by their outcome.
    #[must_use]
    pub fn totals(&self) -> Totals {
        matrix::Matrix::new(self).totals()
    }

    /// Shortens strings and lists to the bounds that a report keeps, and notes how many findings are
    /// left out. What runs checks calls this once at its end.
    pub fn bound(&mut self) {
        let mut room = MAX_ALL_FINDINGS;
        let mut message_room = MAX_ALL_MESSAGE_BYTES;
        for case in &mut self.cases {
            case.stopped.iter_mut().for_each(cut);
            for check in &mut case.checks {
                check.reason.iter_mut().for_each(cut);
                let kept = check.findings.len().min(MAX_FINDINGS).min(room);
                let omitted = check.findings.len() - kept;
                check.findings.truncate(kept);
                room -= kept;
                for finding in &mut check.findings {
                    finding.bound(&mut message_room);
                }
                if omitted > 0 {
                    self.notes.push(format!(
                        "{} has {omitted} more findings in {} over {}",
                        check.id, case.revision, case.transport
                    ));
                }
            }
        }
        if message_room == 0 {
            let note = "the messages of further findings are left out";
            self.notes.insert(0, note.to_owned());
        }
        self.notes.truncate(MAX_NOTES);
        self.notes.iter_mut().for_each(cut);
    }
}

impl Finding {
    /// Shortens its strings, and leaves messages out for which there is no room.
    fn bound(&mut self, message_room: &mut usize) {
        cut(&mut self.sentence);
        cut(&mut self.repeat);
        self.item.iter_mut().for_each(cut);
        self.messages.truncate(MAX_MESSAGES);
        for message in &mut self.messages {
            cut_to(&mut message.text, MAX_MESSAGE_CHARS);
        }
        let bytes = self.messages.iter().map(|message| message.text.len()).sum();
        match message_room.checked_sub(bytes) {
            Some(left) => *message_room = left,
            None => {
                *message_room = 0;
                self.messages.clear();
            }
        }
    }
}

/// Shortens a text to the bound of sentences.
fn cut(text: &mut String) {
    cut_to(text, MAX_TEXT_CHARS);
}

fn cut_to(text: &mut String, max_chars: usize) {
    if let Some((end, _)) = text.char_indices().nth(max_chars) {
        text.truncate(end);
        text.push('…');
    }
}

/// Returns the part of an id before the dot.
fn topic(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}
