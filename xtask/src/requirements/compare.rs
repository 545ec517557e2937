//! Holds the manifest against the tests and against the specification, both ways.

use std::collections::BTreeMap;

use super::extract;
use super::functions::{Function, SourceFile};
use super::manifest::{Manifest, Requirement, Status};
use crate::tree::Tree;

/// The result of a check.
pub(super) struct Report {
    /// The number of requirements that have each status.
    pub(super) counts: BTreeMap<Status, usize>,
    /// Open requirements all of whose tests are written: they wait for `promote`.
    pub(super) ready: Vec<String>,
    /// The faults; empty if there are none.
    pub(super) faults: Vec<String>,
}

/// Compares the manifest with the tests, and with the specification if `pages` are given.
pub(super) fn compare(
    manifest: &Manifest,
    sources: &[SourceFile],
    pages: Option<&Tree>,
) -> Result<Report, String> {
    let mut faults = manifest.faults.clone();
    faults.extend(missing_tests(manifest, sources));
    faults.extend(wrong_markers(manifest, sources));
    if let Some(pages) = pages {
        faults.extend(differing_pages(manifest, pages)?);
    }
    let mut counts = BTreeMap::new();
    for entry in manifest.requirements.values() {
        *counts.entry(entry.status).or_default() += 1;
    }
    let ready = manifest
        .requirements
        .values()
        .filter(|entry| entry.status == Status::Open && is_written(entry, sources))
        .map(|entry| format!("{} {}", entry.id, entry.by.join(" ")))
        .collect();
    Ok(Report {
        counts,
        ready,
        faults,
    })
}

/// Returns every test of the scanned files.
pub(super) fn tests(sources: &[SourceFile]) -> impl Iterator<Item = &Function> {
    sources
        .iter()
        .flat_map(|file| &file.functions)
        .filter(|function| function.is_test)
}

/// Returns whether every test that `entry` names exists.
pub(super) fn is_written(entry: &Requirement, sources: &[SourceFile]) -> bool {
    entry
        .by
        .iter()
        .all(|name| tests(sources).any(|test| test.path == *name))
}

/// Finds tests that a tested requirement names and nobody has written, or that do not name it back.
fn missing_tests(manifest: &Manifest, sources: &[SourceFile]) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, ids) in manifest.ids_by_test(Status::Tested) {
        let found: Vec<&Function> = tests(sources).filter(|test| test.path == name).collect();
        if found.is_empty() {
            let ids: Vec<&str> = ids.into_iter().collect();
            faults.push(format!("no test {name}, named by {}", ids.join(" ")));
            continue;
        }
        for id in ids {
            if !found.iter().any(|test| test.ids.iter().any(|i| i == id)) {
                faults.push(format!("{name} carries no marker for {id}"));
            }
        }
    }
    faults
}

/// Markers that stand above no test, or name what does not name them back.
fn wrong_markers(manifest: &Manifest, sources: &[SourceFile]) -> Vec<String> {
    let mut faults = Vec::new();
    for file in sources {
        for function in file.functions.iter().filter(|f| !f.markers.is_empty()) {
            let place = format!("{}: {}", file.path, function.path);
            if !function.is_test {
                faults.push(format!("{place} is no test, but has a marker"));
            }
            for id in &function.ids {
                match manifest.requirements.get(id) {
                    None => faults.push(format!("{place} names {id}, which does not exist")),
                    Some(entry) if !entry.by.contains(&function.path) => {
                        faults.push(format!("{place} names {id}, which does not name it"));
                    }
                    Some(_) => {}
                }
            }
        }
    }
    faults
}

/// Sentences without an entry, entries without a sentence, and entries that misplace theirs.
fn differing_pages(manifest: &Manifest, pages: &Tree) -> Result<Vec<String>, String> {
    let sentences = extract::extract(pages)?;
    let mut faults = Vec::new();
    for (id, sentence) in &sentences {
        match manifest.requirements.get(id) {
            None => faults.push(format!("{id}: no entry for {}", sentence.places.join(", "))),
            Some(entry) if entry.at != sentence.places => faults.push(format!(
                "{id}: stands at {}, not at {}",
                sentence.places.join(", "),
                entry.at.join(", ")
            )),
            Some(entry) if entry.level != sentence.level => {
                faults.push(format!("{id}: the level is {}", sentence.level));
            }
            Some(_) => {}
        }
    }
    let known = manifest.requirements.keys();
    let gone = known.filter(|id| !sentences.contains_key(*id));
    faults.extend(gone.map(|id| format!("{id}: no page has this sentence")));
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::super::{functions, manifest};
    use super::*;

    const ID: &str = "448dd1021894";
    const PAGE: (&str, &str) = ("2001-01-01/a.mdx", "Cats **MUST** purr.");

    /// Returns the faults of a manifest of one entry, whose last lines are `rest`, beside one test file.
    fn faults(rest: &str, test: &str, page: (&str, &str)) -> Vec<String> {
        let entry = format!(
            "[[requirement]]\nid = \"{ID}\"\nlevel = \"MUST\"\nat = [\"2001-01-01 a.mdx:1\"]\n\
             gist = \"cats purr\"\n{rest}"
        );
        let tree = Tree::new(&[
            ("crates/turnbuckle-check/requirements/cats.toml", &entry),
            ("tests/it/src/cats.rs", test),
        ]);
        let manifest = manifest::load(&tree).unwrap();
        let sources = functions::scan(&tree);
        let pages = Tree::new(&[page]);
        compare(&manifest, &sources, Some(&pages)).unwrap().faults
    }

    const TESTED: &str = "status = \"tested\"\nby = [\"cats::purr\"]";

    #[test]
    fn a_marked_test_and_its_entry_agree() {
        let test = format!("// requirement: {ID}\n#[test]\nfn purr() {{}}");
        assert_eq!(faults(TESTED, &test, PAGE), [""; 0]);
    }

    #[test]
    fn a_test_without_a_marker_and_a_missing_test_are_faults() {
        let unmarked = faults(TESTED, "#[test]\nfn purr() {}", PAGE);
        assert_eq!(unmarked, [format!("cats::purr carries no marker for {ID}")]);
        let missing = faults(TESTED, "fn purr() {}", PAGE);
        assert_eq!(missing, [format!("no test cats::purr, named by {ID}")]);
    }

    #[test]
    fn a_marker_that_nothing_names_back_is_a_fault() {
        let test = format!("// requirement: {ID} 000000000000\n#[test]\nfn hiss() {{}}");
        let rest = "status = \"not-ours\"\nreason = \"binds cats alone\"";
        let place = "tests/it/src/cats.rs: cats::hiss names";
        assert_eq!(
            faults(rest, &test, PAGE),
            [
                format!("{place} {ID}, which does not name it"),
                format!("{place} 000000000000, which does not exist"),
            ]
        );
    }

    #[test]
    fn pages_and_entries_must_match_both_ways() {
        let moved = ("2001-01-01/a.mdx", "\nCats **MUST** purr.");
        let open = "status = \"open\"\nby = [\"cats::purr\"]";
        assert_eq!(
            faults(open, "", moved),
            [format!(
                "{ID}: stands at 2001-01-01 a.mdx:2, not at 2001-01-01 a.mdx:1"
            )]
        );
        let other = faults(open, "", ("2001-01-01/a.mdx", "Dogs **MUST** bark."));
        assert_eq!(other.len(), 2, "{other:?}");
        assert!(other[0].ends_with("no entry for 2001-01-01 a.mdx:1"));
        assert_eq!(other[1], format!("{ID}: no page has this sentence"));
    }

    #[test]
    fn an_incomplete_entry_is_a_fault() {
        let faults = |rest| faults(rest, "", PAGE);
        assert_eq!(
            faults("status = \"application\""),
            [format!("{ID}: no reason")]
        );
        assert_eq!(
            faults("status = \"not-ours\"\nreason = \"dogs\""),
            [format!("{ID}: unknown reason dogs")]
        );
        assert_eq!(
            faults("status = \"open\""),
            [format!("{ID}: no test named in `by`")]
        );
    }
}
