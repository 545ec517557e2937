//! Requirements that checks see from outside, at any server or client, and those that none sees.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::manifest::{Manifest, Requirement, Status};

/// Visibility of a requirement from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Visibility {
    /// A check judges by it.
    Checked,
    /// No check sees it, for a reason.
    Unseen,
    /// An application or somebody else is bound.
    Elsewhere,
    /// Tests hold it here; no check sees it, and no reason says why.
    TestedOnly,
}

impl Visibility {
    /// Returns the words for it in a report.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Checked => "seen from outside by checks",
            Self::Unseen => "not seen from outside, for a reason",
            Self::Elsewhere => "bind applications, or are not ours",
            Self::TestedOnly => "tested here alone",
        }
    }

    fn from_entry(entry: &Requirement) -> Self {
        match entry.status {
            _ if !entry.check.is_empty() => Self::Checked,
            Status::Application | Status::NotOurs => Self::Elsewhere,
            Status::Tested | Status::Open if entry.unseen.is_some() => Self::Unseen,
            Status::Tested | Status::Open => Self::TestedOnly,
        }
    }
}

/// Returns the number of requirements of each kind.
pub(super) fn counts(manifest: &Manifest) -> BTreeMap<Visibility, usize> {
    let mut counts = BTreeMap::new();
    for entry in manifest.requirements.values() {
        *counts.entry(Visibility::from_entry(entry)).or_default() += 1;
    }
    counts
}

/// Returns a fault for each tested requirement that no check sees, and that does not say why.
pub(super) fn faults(manifest: &Manifest) -> impl Iterator<Item = String> {
    let tested_only = |entry: &&Requirement| {
        Visibility::from_entry(entry) == Visibility::TestedOnly && entry.status == Status::Tested
    };
    let entries = manifest.requirements.values().filter(tested_only);
    entries.map(|entry| {
        let (id, gist) = (&entry.id, &entry.gist);
        format!("{id} ({gist}): no check requires it, and `unseen` does not say why")
    })
}

/// Returns a line for each requirement: id, level, state here, checks or the reason for none, gist.
pub(super) fn table(manifest: &Manifest) -> String {
    let mut text = String::new();
    for entry in manifest.requirements.values() {
        let reason = entry.unseen.as_ref().or(entry.reason.as_ref());
        let seen = match entry.check.is_empty() {
            false => entry.check.join(" "),
            true => reason.map_or_else(|| "-".to_owned(), |reason| format!("({reason})")),
        };
        let (id, level, status) = (&entry.id, &entry.level, entry.status.word());
        let _ = writeln!(text, "{id}\t{level}\t{status}\t{seen}\t{}", entry.gist);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::manifest;
    use super::*;
    use crate::tree::Tree;

    #[test]
    fn each_requirement_is_counted_by_what_is_seen_of_it() {
        let entry = |id: &str, rest: &str| {
            format!(
                "[[requirement]]\nid = \"{id}\"\nlevel = \"MUST\"\nat = [\"2001-01-01 a.mdx:1\"]\n\
                 gist = \"cats purr\"\n{rest}\n\n"
            )
        };
        let tested = "status = \"tested\"\nby = [\"cats::purr\"]";
        let text = [
            entry(
                "000000000001",
                &format!("{tested}\ncheck = [\"cats.purr\"]"),
            ),
            entry(
                "000000000002",
                &format!("{tested}\nunseen = \"only cats hear it\""),
            ),
            entry("000000000003", tested),
            entry(
                "000000000004",
                "status = \"not-ours\"\nreason = \"binds dogs alone\"",
            ),
        ];
        let path = "crates/turnbuckle-check/requirements/cats.toml";
        let manifest = manifest::load(&Tree::new(&[(path, &text.concat())])).unwrap();
        assert_eq!(manifest.faults, [""; 0]);
        let each = [
            Visibility::Checked,
            Visibility::Unseen,
            Visibility::Elsewhere,
            Visibility::TestedOnly,
        ];
        assert_eq!(
            counts(&manifest),
            each.map(|visibility| (visibility, 1)).into()
        );
        let found: Vec<_> = faults(&manifest).collect();
        assert_eq!(
            found,
            ["000000000003 (cats purr): no check requires it, and `unseen` does not say why"]
        );
        assert_eq!(
            table(&manifest).lines().next(),
            Some("000000000001\tMUST\ttested\tcats.purr\tcats purr")
        );
    }
}
