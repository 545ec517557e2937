//! The checks of `turnbuckle-check` and the requirements that each one names, read from its source.
//!
//! A check is `Check::new("topic.rule", …)` with `.requires(&["<id>", …])` behind it, in a constant. The
//! entries of the manifest name their checks in `check`, which `requirements mark` writes.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;

use super::manifest::{self, Manifest};
use crate::source::{Token, flatten};
use crate::tree::Tree;

/// The place of the sources of all checks.
const FOLDER: &str = "crates/turnbuckle-check/src/";

/// Widest line of a manifest file.
const MAX_WIDTH: usize = 100;

/// The ids of the requirements that each check names, by the id of the check.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Checks(BTreeMap<String, BTreeSet<String>>);

impl Checks {
    /// Reads the constants of all checks.
    pub(super) fn scan(tree: &Tree) -> Self {
        let mut checks = Self::default();
        let is_ours = |path: &str| path.starts_with(FOLDER) && !path.ends_with("tests.rs");
        for (_, text) in tree.texts(".rs").filter(|(path, _)| is_ours(path)) {
            if let Ok(stream) = text.parse::<TokenStream>() {
                let mut tokens = Vec::new();
                flatten(stream, &mut tokens);
                checks.read(&tokens);
            }
        }
        checks
    }

    /// Adds the checks in the tokens of a file.
    fn read(&mut self, tokens: &[Token]) {
        for at in 0..tokens.len() {
            let Some(id) = check_id(&tokens[at..]) else {
                continue;
            };
            // Checks are constants, or elements of one.
            let is_end =
                |next: &usize| tokens[*next].is(';') || check_id(&tokens[*next..]).is_some();
            let end = (at + 1..tokens.len()).find(is_end);
            let rest = &tokens[at..end.unwrap_or(tokens.len())];
            let requirements = self.0.entry(id.to_owned()).or_default();
            for at in 0..rest.len() {
                if rest[at].ident() == Some("requires") {
                    let list = rest[at..].iter().take_while(|token| !token.is(']'));
                    requirements.extend(list.filter_map(Token::text).map(str::to_owned));
                }
            }
        }
    }

    /// Returns the ids of the checks.
    pub(super) fn into_ids(self) -> BTreeSet<String> {
        self.0.into_keys().collect()
    }

    /// Returns the checks of each requirement.
    fn by_requirement(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (check, requirements) in &self.0 {
            for requirement in requirements {
                found.entry(requirement).or_default().insert(check);
            }
        }
        found
    }

    /// Returns where checks and entries do not name each other.
    pub(super) fn faults(&self, manifest: &Manifest) -> Vec<String> {
        let mut faults = Vec::new();
        for (check, requirements) in &self.0 {
            for id in requirements {
                match manifest.requirements.get(id) {
                    None => faults.push(format!("{check} requires {id}, which does not exist")),
                    Some(entry) if !entry.check.contains(check) => faults.push(format!(
                        "{check} requires {id}, which does not name it: run `requirements mark`"
                    )),
                    Some(_) => {}
                }
            }
        }
        for entry in manifest.requirements.values() {
            for check in &entry.check {
                match self.0.get(check) {
                    None => faults.push(format!("{} names the unknown check {check}", entry.id)),
                    Some(ids) if !ids.contains(&entry.id) => {
                        faults.push(format!("{check} does not require {}", entry.id));
                    }
                    Some(_) => {}
                }
            }
        }
        faults
    }

    /// Returns the manifest's files, by path, whose lists of checks differ from the source, with the
    /// text that they should have.
    pub(super) fn manifest_files(&self, tree: &Tree) -> BTreeMap<String, String> {
        let checks = self.by_requirement();
        let files = manifest::files(tree).map(|(path, text)| (path, text, rewrite(text, &checks)));
        files
            .filter(|(_, before, after)| before != after)
            .map(|(path, _, after)| (path.to_owned(), after))
            .collect()
    }
}

/// Returns the id in `Check::new("id"`, or in a constructor of another type whose name ends in `Check`.
fn check_id(tokens: &[Token]) -> Option<&str> {
    let [name, colon, second, constructor, open, id, ..] = tokens else {
        return None;
    };
    let is_call = name.ident()?.ends_with("Check")
        && colon.is(':')
        && second.is(':')
        && constructor.ident().is_some()
        && open.is('(');
    id.text().filter(|_| is_call)
}

/// Returns the text of a manifest file with the lists of checks, every other line as it was.
fn rewrite(text: &str, checks: &BTreeMap<&str, BTreeSet<&str>>) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut wanted: Option<&BTreeSet<&str>> = None;
    let mut is_old = false;
    for line in text.split('\n') {
        if is_old {
            is_old = line != "]";
            continue;
        }
        if let Some(list) = line.strip_prefix("check = [") {
            is_old = !list.contains(']');
            continue;
        }
        if let Some(id) = line.strip_prefix("id = \"") {
            wanted = checks.get(id.trim_end().trim_end_matches('"'));
        }
        // What a check sees needs no reason for not being seen.
        if wanted.is_some() && line.starts_with("unseen = ") {
            continue;
        }
        if line.is_empty() {
            out.extend(wanted.take().into_iter().flat_map(list));
        }
        out.push(line.to_owned());
    }
    out.join("\n")
}

/// Returns the lines of the list of checks of an entry.
fn list(checks: &BTreeSet<&str>) -> Vec<String> {
    let quoted: Vec<_> = checks.iter().map(|check| format!("\"{check}\"")).collect();
    let line = format!("check = [{}]", quoted.join(", "));
    if line.len() <= MAX_WIDTH {
        return vec![line];
    }
    let items = quoted.into_iter().map(|check| format!("    {check},"));
    ["check = [".to_owned()]
        .into_iter()
        .chain(items)
        .chain(["]".to_owned()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
        const A: Check = Check::new("cats.purr", Level::Must, "cats purr", |cx| Box::pin(purr(cx)))
            .needs(&[Need::Tools])
            .requires(&["448dd1021894", "000000000001"])
            .fix("feed them");
        const B: Check = Check::new("cats.hiss", Level::Must, "cats do not hiss", |cx| Box::pin(hiss(cx)));
        const C: &[ClientCheck] = &[
            ClientCheck::pipe("birds.fly", Level::Must),
            ClientCheck::pipe("dogs.bark").requires(&["448dd1021894"]),
        ];
    "#;

    fn source_checks() -> Checks {
        Checks::scan(&Tree::new(&[(
            "crates/turnbuckle-check/src/checks/cats.rs",
            SOURCE,
        )]))
    }

    fn manifest(rest: &str) -> Manifest {
        let entry = format!(
            "[[requirement]]\nid = \"448dd1021894\"\nlevel = \"MUST\"\nat = [\"2001-01-01 a.mdx:1\"]\n\
             gist = \"cats purr\"\nstatus = \"tested\"\nby = [\"cats::purr\"]\n{rest}"
        );
        let tree = Tree::new(&[("crates/turnbuckle-check/requirements/cats.toml", &entry)]);
        manifest::load(&tree).unwrap()
    }

    #[test]
    fn checks_are_read_with_their_requirements() {
        let Checks(found) = source_checks();
        let found: Vec<_> = found
            .iter()
            .map(|(check, ids)| (check.as_str(), ids.iter().map(String::as_str).collect()))
            .collect();
        let expected: [(&str, Vec<&str>); 4] = [
            ("birds.fly", vec![]),
            ("cats.hiss", vec![]),
            ("cats.purr", vec!["000000000001", "448dd1021894"]),
            ("dogs.bark", vec!["448dd1021894"]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn checks_and_entries_name_each_other() {
        let missing = "cats.purr requires 000000000001, which does not exist".to_owned();
        let both = "check = [\"cats.purr\", \"dogs.bark\"]";
        assert_eq!(
            source_checks().faults(&manifest(both)),
            std::slice::from_ref(&missing)
        );
        let wrong = source_checks().faults(&manifest(
            "check = [\"cats.purr\", \"cats.hiss\", \"birds.sing\"]",
        ));
        assert_eq!(
            wrong,
            [
                missing,
                "dogs.bark requires 448dd1021894, which does not name it: run `requirements mark`"
                    .to_owned(),
                "cats.hiss does not require 448dd1021894".to_owned(),
                "448dd1021894 names the unknown check birds.sing".to_owned(),
            ]
        );
    }

    #[test]
    fn lists_of_checks_are_written_behind_their_entries() {
        let long: BTreeSet<&str> = [
            "a-check-with-a-long-name.a",
            "a-check-with-a-long-name.b",
            "a-check-with-a-long-name.c",
            "a-check-with-a-long-name.d",
        ]
        .into();
        let checks = BTreeMap::from([("a", BTreeSet::from(["x.y", "x.z"])), ("c", long)]);
        let before = "id = \"a\"\nby = []\nunseen = \"far\"\n\nid = \"b\"\ncheck = [\"gone\"]\n\nid = \"c\"\ncheck = [\n    \"old\",\n]\n";
        let after = rewrite(before, &checks);
        assert_eq!(
            after,
            "id = \"a\"\nby = []\ncheck = [\"x.y\", \"x.z\"]\n\nid = \"b\"\n\nid = \"c\"\ncheck = [\n    \
             \"a-check-with-a-long-name.a\",\n    \"a-check-with-a-long-name.b\",\n    \
             \"a-check-with-a-long-name.c\",\n    \"a-check-with-a-long-name.d\",\n]\n"
        );
        assert_eq!(rewrite(&after, &checks), after);
    }
}
