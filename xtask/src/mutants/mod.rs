//! `cargo xtask mutants`: proof that tests check what they claim to check.
//!
//! `tests/mutations.toml` lists rules of the source with the text that switches each one off and
//! the tests that must fail then:
//!
//! ```toml
//! [[mutation]]
//! id = "origin-unchecked"
//! requirement = "0123456789ab" # optional: an entry of crates/turnbuckle-check/requirements that names such a test
//! file = "crates/…/origin.rs"
//! find = "…"                   # exact text, which the file holds once
//! replace = "…"
//! package = "…"                # optional: the package of the tests, turnbuckle-it unless given
//! test = "http::origin"        # part of the tests' names, as `cargo test` takes it; one must fail
//! check = ["http.origin-403"]  # optional: the checks of `turnbuckle check` of which one finds it
//! unseen = "…"                 # optional: the reason why no check finds what a client could notice
//! ```
//!
//! A mutation with `check` or `unseen` can be seen from outside a server whose handlers do ordinary
//! things: the server sends or accepts something else. One with neither cannot: it is of a client or a
//! tool, or it changes how much a server takes, logs or remembers.
//!
//! Everything happens in a copy of the workspace, which keeps its own target folder from run to
//! run; the checkout is never changed.

mod scratch;
mod seen;

use std::collections::BTreeSet;
use std::fs;

use serde::Deserialize;

use crate::process::{root, target};
use crate::requirements;
use crate::tidy::Project;
use scratch::Scratch;

/// The path of the list, from the root.
pub(crate) const LIST: &str = "tests/mutations.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(rename = "mutation")]
    mutations: Vec<Mutation>,
}

/// A change of the source that tests must notice.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutation {
    id: String,
    requirement: Option<String>,
    file: String,
    find: String,
    replace: String,
    #[serde(default = "Mutation::default_package")]
    package: String,
    test: String,
    #[serde(default)]
    check: Vec<String>,
    unseen: Option<String>,
}

impl List {
    fn read() -> Result<Self, String> {
        let path = root().join(LIST);
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("{LIST}: {error}"))
    }

    /// Returns an error if a name is that of no mutation.
    fn expect_all(&self, wanted: &[String]) -> Result<(), String> {
        let is_known = |id: &&String| self.mutations.iter().any(|mutation| mutation.id == **id);
        match wanted.iter().find(|id| !is_known(id)) {
            Some(id) => Err(format!("no mutation {id}")),
            None => Ok(()),
        }
    }

    /// Parses the list, which is not empty and in which every id stands once.
    fn parse(text: &str) -> Result<Self, String> {
        let list: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut ids = BTreeSet::new();
        match list
            .mutations
            .iter()
            .find(|mutation| !ids.insert(&mutation.id))
        {
            Some(twice) => Err(format!("the id {} stands twice", twice.id)),
            None if list.mutations.is_empty() => Err("the list is empty".to_owned()),
            None => Ok(list),
        }
    }
}

impl Mutation {
    fn default_package() -> String {
        "turnbuckle-it".to_owned()
    }

    /// Returns `text` with the change.
    fn apply(&self, text: &str) -> Result<String, String> {
        match text.matches(&self.find).count() {
            1 if self.find == self.replace => Err("the replacement changes nothing".to_owned()),
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            count => Err(format!(
                "{} holds the text {count} times, not once",
                self.file
            )),
        }
    }

    /// Returns an error if the checks that find the mutation do not exist, or if nothing finds it and yet
    /// checks are named.
    fn check_fault(&self, ids: &BTreeSet<String>) -> Result<(), String> {
        if self.unseen.is_some() && !self.check.is_empty() {
            return Err("what is `unseen` has no `check`".to_owned());
        }
        let mut unknown = self.check.iter();
        match unknown.find(|id| !ids.contains(*id) && !seen::OUTCOMES.contains(&id.as_str())) {
            Some(id) => Err(format!("there is no check {id}")),
            None => Ok(()),
        }
    }

    /// Returns the beginning of the paths of the package's tests.
    fn test_prefix(&self) -> String {
        match self.package.as_str() {
            "turnbuckle-it" => String::new(),
            package => format!("{}::", package.replace('-', "_")),
        }
    }
}

/// Returns what is wrong with the list: a text that the source does not have, a test or a
/// requirement that does not exist, a requirement that does not name the test.
pub(crate) fn broken(project: &Project) -> Vec<String> {
    let Some(text) = project.tree.text(LIST) else {
        return Vec::new();
    };
    let list = match List::parse(text) {
        Ok(list) => list,
        Err(error) => return vec![error],
    };
    let tests = project.test_paths();
    let by_requirement = match requirements::tests_by_requirement(&project.tree) {
        Ok(tests) => tests,
        Err(error) => return vec![error],
    };
    let checks = requirements::check_ids(&project.tree);
    let mut broken = Vec::new();
    for mutation in &list.mutations {
        let text = project
            .tree
            .text(&mutation.file)
            .ok_or_else(|| format!("no file {}", mutation.file));
        let applied = text.and_then(|text| mutation.apply(text)).map(drop);
        let prefix = mutation.test_prefix();
        let fits = |path: &String| {
            path.strip_prefix(&prefix)
                .is_some_and(|path| path.contains(&mutation.test))
        };
        let has_test = match tests.iter().any(fits) {
            true => Ok(()),
            false => Err(format!(
                "{} has no test {}",
                mutation.package, mutation.test
            )),
        };
        let named = match &mutation.requirement {
            None => Ok(()),
            Some(id) => match by_requirement.get(id) {
                None => Err(format!("there is no requirement {id}")),
                Some(by) if by.iter().any(fits) => Ok(()),
                Some(_) => Err(format!(
                    "the requirement {id} names no test {}",
                    mutation.test
                )),
            },
        };
        let faults = [applied, has_test, named, mutation.check_fault(&checks)]
            .into_iter()
            .filter_map(Result::err);
        broken.extend(faults.map(|fault| format!("{}: {fault}", mutation.id)));
    }
    broken
}

/// Mutations, and who has to notice them.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Let `turnbuckle check` judge servers with the mutations that can be seen from outside, instead of
    /// running the tests. Named mutations are judged one by one, others several at a time
    #[arg(long)]
    seen_by_check: bool,

    /// Ids of mutations; all if there are none
    ids: Vec<String>,
}

/// Runs the named mutations, or all; an error counts those that were not noticed.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let list = List::read()?;
    list.expect_all(&options.ids)?;
    let scratch = Scratch::new(&root(), &target().join("mutants"));
    match options.seen_by_check {
        true => seen::run(&scratch, &list, &options.ids),
        false => run_in(&scratch, &list, &options.ids),
    }
}

fn run_in(scratch: &Scratch, list: &List, wanted: &[String]) -> Result<(), String> {
    scratch.update()?;
    let chosen = list
        .mutations
        .iter()
        .filter(|mutation| wanted.is_empty() || wanted.contains(&mutation.id));
    let mut unnoticed = 0;
    let mut sound = Vec::new();
    // All of the unchanged source first: it is built once.
    for mutation in chosen {
        match scratch.passes_unchanged(mutation)? {
            Ok(()) => sound.push(mutation),
            Err(reason) => {
                unnoticed += 1;
                println!("WRONG  {:<32} {reason}", mutation.id);
            }
        }
    }
    for mutation in sound {
        match scratch.fails_changed(mutation)? {
            Ok(()) => println!("ok     {:<32} noticed", mutation.id),
            Err(reason) => {
                unnoticed += 1;
                println!("WRONG  {:<32} {reason}", mutation.id);
            }
        }
    }
    match unnoticed {
        0 => Ok(()),
        _ => Err(format!(
            "{unnoticed} mutations prove nothing; the output of their tests is in {}",
            scratch.logs().display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    const ENTRY: &str = "[[mutation]]\nid = 'a'\nfile = 'crates/a.rs'\nfind = 'x < 1'\nreplace = 'true'\ntest = 'cats::p'\n";

    #[test]
    fn an_empty_list_a_hole_and_a_double_are_refused() {
        assert!(List::parse(ENTRY).is_ok());
        for wrong in [
            "",
            "mutation = []",
            &ENTRY.replace("find", "fnd"),
            &ENTRY.repeat(2),
        ] {
            assert!(List::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_text_stands_exactly_once_and_changes() {
        let mut mutation = List::parse(ENTRY).unwrap().mutations.remove(0);
        assert_eq!(mutation.apply("if x < 1 {}").unwrap(), "if true {}");
        assert!(mutation.apply("x < 2").unwrap_err().contains("0 times"));
        assert!(
            mutation
                .apply("x < 1 && x < 1")
                .unwrap_err()
                .contains("2 times")
        );
        mutation.replace.clone_from(&mutation.find);
        assert!(mutation.apply("x < 1").is_err());
    }

    #[test]
    fn an_entry_that_the_project_does_not_bear_out_is_found() {
        let manifest = "[[requirement]]\nid = 'aaaaaaaaaaaa'\nlevel = 'MUST'\nat = ['2001-01-01 a.mdx:1']\n\
                        gist = 'cats purr'\nstatus = 'tested'\nby = ['cats::purr']\n";
        let found = |list: &str, source: &str| {
            let tree = Tree::new(&[
                (LIST, list),
                ("crates/a.rs", source),
                ("crates/turnbuckle-check/requirements/cats.toml", manifest),
                (
                    "crates/turnbuckle-check/src/checks/cats.rs",
                    "const PURR: Check = Check::new(\"cats.purr\");",
                ),
                (
                    "tests/it/tests/it/cats.rs",
                    "#[test]\nfn purr() {}\n#[test]\nfn hiss() {}\n",
                ),
            ]);
            broken(&Project::new(tree, Vec::new()))
        };
        let good = "fn f() { if x < 1 {} }";
        assert_eq!(found(ENTRY, good), [""; 0]);
        assert!(found(ENTRY, "fn f() {}")[0].contains("0 times"));
        assert!(found(&ENTRY.replace("cats::p", "dogs::bark"), good)[0].contains("has no test"));
        let with = |id: &str, test: &str| {
            let entry = format!("{ENTRY}requirement = '{id}'\n");
            found(&entry.replace("cats::p", test), good)
        };
        let with_line = |line: &str| found(&format!("{ENTRY}{line}\n"), good);
        assert_eq!(with_line("check = ['cats.purr']"), [""; 0]);
        assert_eq!(with_line("check = ['unreachable']"), [""; 0]);
        assert!(with_line("check = ['cats.hiss']")[0].contains("no check cats.hiss"));
        let both = with_line("check = ['cats.purr']\nunseen = 'cats purr seldom'");
        assert!(both[0].contains("no `check`"));
        assert_eq!(with("aaaaaaaaaaaa", "cats::purr"), [""; 0]);
        assert!(with("aaaaaaaaaaaa", "cats::hiss")[0].contains("names no test"));
        assert!(with("bbbbbbbbbbbb", "cats::purr")[0].contains("no requirement"));
        assert_eq!(found("", good).len(), 1, "an empty list");
    }

    const MANIFEST: &str =
        "[package]\nname = \"sample\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";

    const SOURCE: &str = "pub fn small(n: u32) -> bool {\n    n < 10\n}\n\
                          #[test]\nfn ten_is_not_small() {\n    assert!(!small(10));\n}\n\
                          #[test]\nfn one_is_small() {\n    assert!(small(1));\n}\n";

    #[test]
    fn only_a_test_that_fails_under_the_change_is_proof() {
        let folder = target().join("mutants-sample");
        let _ = fs::remove_dir_all(&folder);
        let original = folder.join("original");
        fs::create_dir_all(original.join("src")).unwrap();
        fs::write(original.join("Cargo.toml"), MANIFEST).unwrap();
        fs::write(original.join("src/lib.rs"), SOURCE).unwrap();
        let scratch = Scratch::new(&original, &folder.join("scratch"));
        fs::create_dir_all(original.join("target")).unwrap();
        fs::write(original.join("left.rs"), "").unwrap();
        scratch.update().unwrap();
        fs::remove_file(original.join("left.rs")).unwrap();
        scratch.update().unwrap();
        let copied = |path: &str| folder.join("scratch/workspace").join(path).exists();
        assert!(copied("src/lib.rs") && !copied("left.rs") && !copied("target"));
        let mutation = |replace: &str, test: &str| Mutation {
            id: "cap".into(),
            requirement: None,
            package: "sample".into(),
            file: "src/lib.rs".into(),
            find: "n < 10".into(),
            replace: replace.into(),
            test: test.into(),
            check: Vec::new(),
            unseen: None,
        };
        let attempt = |replace, test| {
            let mutation = mutation(replace, test);
            scratch.passes_unchanged(&mutation).unwrap()?;
            scratch.fails_changed(&mutation).unwrap()
        };
        assert_eq!(attempt("n < 11", "ten_is_not_small"), Ok(()));
        let reason = |replace, test| attempt(replace, test).unwrap_err();
        assert_eq!(reason("n < 11", "one_is_small"), "with the change: Passed");
        assert_eq!(
            reason("n <", "ten_is_not_small"),
            "with the change: DoesNotCompile"
        );
        assert_eq!(reason("n < 11", "gone"), "without the change: NoSuchTest");

        let list = List {
            mutations: vec![mutation("n < 9", "one_is_small")],
        };
        assert!(run_in(&scratch, &list, &[]).is_err());
        assert!(list.expect_all(&["unknown".to_owned()]).is_err());
        assert_eq!(
            fs::read_to_string(original.join("src/lib.rs")).unwrap(),
            SOURCE
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
