//! The manifest: which sentence is answered for by whom.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::extract;
use crate::tree::Tree;

/// The place where the manifest's files are.
const FOLDER: &str = "crates/turnbuckle-check/requirements/";

/// The longest paraphrase, in characters.
const GIST_LIMIT: usize = 60;

/// The state of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Status {
    /// The tests in `by` hold it.
    Tested,
    /// The tests in `by` shall hold it.
    Open,
    /// The user of the crates must see to it.
    Application,
    /// The sentence binds somebody else.
    NotOurs,
}

impl Status {
    /// Returns the word that stands in the files.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Tested => "tested",
            Self::Open => "open",
            Self::Application => "application",
            Self::NotOurs => "not-ours",
        }
    }

    /// Returns whether tests answer for it, now or one day; else a reason does.
    fn needs_tests(self) -> bool {
        matches!(self, Self::Tested | Self::Open)
    }
}

/// One sentence.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Requirement {
    /// The hash of the sentence.
    pub(super) id: String,
    /// The strongest key word.
    pub(super) level: String,
    /// Every place, `<revision> <page>:<line>`.
    pub(super) at: Vec<String>,
    /// The sentence in a few words of ours.
    pub(super) gist: String,
    /// The state of the sentence.
    pub(super) status: Status,
    /// The tests, by path.
    #[serde(default)]
    pub(super) by: Vec<String>,
    /// The checks of `turnbuckle-check`, by id.
    #[serde(default)]
    pub(super) check: Vec<String>,
    /// Why no check sees it from outside; for entries with tests.
    pub(super) unseen: Option<String>,
    pub(super) reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    reasons: BTreeMap<String, String>,
    #[serde(default)]
    requirement: Vec<Requirement>,
}

/// Every file of the manifest, joined.
pub(super) struct Manifest {
    /// By id; of two with the same id the last, and [`load`] has said so.
    pub(super) requirements: BTreeMap<String, Requirement>,
    /// The faults of the files themselves.
    pub(super) faults: Vec<String>,
}

impl Manifest {
    /// Returns the ids that each test answers for, of the requirements with this status.
    pub(super) fn ids_by_test(&self, status: Status) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut ids: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for entry in self.requirements.values().filter(|r| r.status == status) {
            for test in &entry.by {
                ids.entry(test).or_default().insert(&entry.id);
            }
        }
        ids
    }
}

/// Returns the manifest's files, as (path, text), in order.
pub(super) fn files(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.texts(".toml")
        .filter(|(path, _)| path.starts_with(FOLDER) && !path.ends_with("/Cargo.toml"))
}

/// Reads every file of the manifest. One that does not parse is an error, anything less a fault.
pub(super) fn load(tree: &Tree) -> Result<Manifest, String> {
    let mut reasons = BTreeMap::new();
    let mut requirements = BTreeMap::new();
    let mut faults = Vec::new();
    for (path, text) in files(tree) {
        let file: File = toml::from_str(text).map_err(|error| format!("{path}: {error}"))?;
        for (key, reason) in file.reasons {
            if reason.trim().is_empty() {
                faults.push(format!("reason {key} says nothing"));
            }
            if reasons.insert(key.clone(), reason).is_some() {
                faults.push(format!("reason {key} stands twice"));
            }
        }
        for entry in file.requirement {
            faults.extend(entry.faults().map(|fault| format!("{}: {fault}", entry.id)));
            let id = entry.id.clone();
            if requirements.insert(id.clone(), entry).is_some() {
                faults.push(format!("{id}: stands twice"));
            }
        }
    }
    let manifest = Manifest {
        faults,
        requirements,
    };
    Ok(with_reasons_checked(manifest, &reasons))
}

impl Requirement {
    /// Returns what is wrong with the entry by itself.
    fn faults(&self) -> impl Iterator<Item = &'static str> {
        let is_hash = self.id.len() == extract::HASH_LEN
            && self
                .id
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let gist = self.gist.trim().chars().count();
        let reason = self.reason.as_deref().unwrap_or("").trim();
        let tests = self.status.needs_tests();
        [
            (!is_hash, "the id is no hash"),
            (!extract::is_level(&self.level), "unknown level"),
            (self.at.is_empty(), "no place"),
            (gist == 0, "no gist"),
            (gist > GIST_LIMIT, "the gist is too long"),
            (tests && self.by.is_empty(), "no test named in `by`"),
            (!tests && !self.by.is_empty(), "`by` without tests to come"),
            (!tests && reason.is_empty(), "no reason"),
            (!tests && self.unseen.is_some(), "`unseen` beside a reason"),
            (
                !self.check.is_empty() && self.unseen.is_some(),
                "`unseen` beside a check",
            ),
        ]
        .into_iter()
        .filter_map(|(wrong, fault)| wrong.then_some(fault))
    }
}

/// Returns a reason of one word is a key: it must exist, and every key must be used.
fn with_reasons_checked(mut manifest: Manifest, reasons: &BTreeMap<String, String>) -> Manifest {
    let mut unused: BTreeSet<&str> = reasons.keys().map(String::as_str).collect();
    for entry in manifest.requirements.values() {
        for reason in [&entry.reason, &entry.unseen].into_iter().flatten() {
            let reason = reason.trim();
            unused.remove(reason);
            if !reason.contains(' ') && !reasons.contains_key(reason) {
                let fault = format!("{}: unknown reason {reason}", entry.id);
                manifest.faults.push(fault);
            }
        }
    }
    let unused = unused
        .into_iter()
        .map(|key| format!("reason {key} is not used"));
    manifest.faults.extend(unused);
    manifest
}
