//! `cargo xtask mutants`: proof that tests hold what they claim to hold.
//!
//! `tests/mutations.toml` lists rules of the source with the text that switches each one off and
//! the tests that must notice. Everything happens in a copy of the workspace, which keeps its own
//! target folder from run to run; the tree that the user works in is never touched.

mod copy;
mod list;
mod runner;

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{root, target};
use list::{List, Mutation};
use runner::{Runner, Verdict};

pub(crate) use list::broken;

/// `cargo xtask mutants [EXTENSION_ID…]`: the named mutations, or all.
pub(crate) fn run(wanted: &[String]) -> Result<(), String> {
    let path = root().join(list::PATH);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    run_in(
        &Scratch::at(&root(), &target().join("mutants")),
        &List::parse(&text)?,
        wanted,
    )
}

/// Runs the list in `scratch`; an error counts what was not noticed.
fn run_in(scratch: &Scratch, list: &List, wanted: &[String]) -> Result<(), String> {
    if let Some(id) = wanted
        .iter()
        .find(|id| list.mutations.iter().all(|m| m.id != **id))
    {
        return Err(format!("no mutation {id}"));
    }
    scratch.fill(&list.beside)?;
    let chosen = list
        .mutations
        .iter()
        .filter(|m| wanted.is_empty() || wanted.contains(&m.id));
    let mut wrong = 0;
    let mut sound = Vec::new();
    // All of the untouched source first: it is built once.
    for mutation in chosen {
        match scratch.before(mutation)? {
            Ok(()) => sound.push(mutation),
            reason => wrong += usize::from(!told(mutation, &reason)),
        }
    }
    for mutation in sound {
        wrong += usize::from(!told(mutation, &scratch.after(mutation)?));
    }
    match wrong {
        0 => Ok(()),
        _ => Err(format!(
            "{wrong} mutations prove nothing; what their tests said is in {}",
            scratch.runner.logs().display()
        )),
    }
}

/// Prints one row; whether it is a good one.
fn told(mutation: &Mutation, outcome: &Result<(), String>) -> bool {
    let (mark, word) = match outcome {
        Ok(()) => ("ok", "noticed"),
        Err(reason) => ("WRONG", reason.as_str()),
    };
    println!(
        "{mark:<6} {:<32} {:<13} {word}",
        mutation.id, mutation.requirement
    );
    outcome.is_ok()
}

/// The copy of a workspace that mutations are made in.
struct Scratch {
    original: PathBuf,
    workspace: PathBuf,
    runner: Runner,
}

impl Scratch {
    fn at(original: &Path, folder: &Path) -> Self {
        let workspace = folder.join("workspace");
        let runner = Runner::new(&workspace, folder);
        Self {
            original: original.to_owned(),
            workspace,
            runner,
        }
    }

    /// Brings the copy up to date; what stands `beside` the original is linked beside the copy.
    fn fill(&self, beside: &[String]) -> Result<(), String> {
        copy::mirror(&self.original, &self.workspace)?;
        copy::link_beside(&self.original, &self.workspace, beside)
    }

    /// Whether the mutation applies and its tests pass without it. The inner `Err` says why not;
    /// the outer, that the copy could not be worked on.
    fn before(&self, mutation: &Mutation) -> Result<Result<(), String>, String> {
        let text = fs::read_to_string(self.workspace.join(&mutation.file));
        let applied = text
            .map_err(|_| format!("no file {}", mutation.file))
            .and_then(|text| mutation.apply(&text));
        if let Err(reason) = applied {
            return Ok(Err(reason));
        }
        let verdict = self.runner.test(&mutation.package, &mutation.test)?;
        self.runner.keep_log(&mutation.id)?;
        Ok(match verdict {
            Verdict::Passed => Ok(()),
            verdict => Err(format!("without it: {verdict:?}")),
        })
    }

    /// Whether the mutation's tests turn red under it; the copy is as before afterwards.
    fn after(&self, mutation: &Mutation) -> Result<Result<(), String>, String> {
        let path = self.workspace.join(&mutation.file);
        let unusable = |error| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(unusable)?;
        fs::write(&path, mutation.apply(&text)?).map_err(unusable)?;
        let verdict = self.runner.test(&mutation.package, &mutation.test);
        fs::write(&path, text).map_err(unusable)?;
        self.runner.keep_log(&mutation.id)?;
        Ok(match verdict? {
            Verdict::Failed => Ok(()),
            verdict => Err(format!("under it: {verdict:?}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str =
        "[package]\nname = \"sample\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";

    const SOURCE: &str = "\
pub fn small(n: u32) -> bool {
    n < 10
}
#[test]
fn ten_is_not_small() {
    assert!(!small(10));
}
#[test]
fn one_is_small() {
    assert!(small(1));
}
";

    fn mutation(replace: &str, test: &str) -> Mutation {
        Mutation {
            id: "cap".into(),
            requirement: "none".into(),
            package: "sample".into(),
            file: "src/lib.rs".into(),
            find: "n < 10".into(),
            replace: replace.into(),
            test: test.into(),
        }
    }

    #[test]
    fn only_a_test_that_turns_red_is_proof() {
        let folder = target().join("mutants-sample");
        let _ = fs::remove_dir_all(&folder);
        let original = folder.join("original");
        fs::create_dir_all(original.join("src")).unwrap();
        fs::write(original.join("Cargo.toml"), MANIFEST).unwrap();
        fs::write(original.join("src/lib.rs"), SOURCE).unwrap();
        let scratch = Scratch::at(&original, &folder.join("scratch"));
        scratch.fill(&[]).unwrap();

        let attempt = |replace, test| {
            let mutation = mutation(replace, test);
            scratch.before(&mutation).unwrap()?;
            scratch.after(&mutation).unwrap()
        };
        assert_eq!(attempt("n < 11", "ten_is_not_small"), Ok(()));
        let reason = |replace, test| attempt(replace, test).unwrap_err();
        assert_eq!(reason("n < 11", "one_is_small"), "under it: Passed");
        assert_eq!(
            reason("n <", "ten_is_not_small"),
            "under it: DoesNotCompile"
        );
        assert_eq!(reason("n < 11", "gone"), "without it: NoSuchTest");

        let list = List {
            beside: Vec::new(),
            mutations: vec![mutation("n < 9", "one_is_small")],
        };
        assert!(run_in(&scratch, &list, &[]).is_err());
        assert!(run_in(&scratch, &list, &["unknown".to_owned()]).is_err());
        assert_eq!(
            fs::read_to_string(original.join("src/lib.rs")).unwrap(),
            SOURCE
        );
        let copied = scratch.workspace.join("src/lib.rs");
        assert_eq!(fs::read_to_string(copied).unwrap(), SOURCE);
        fs::remove_dir_all(&folder).unwrap();
    }
}
