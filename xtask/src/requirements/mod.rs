//! `cargo xtask requirements`: the sentences of the specification that oblige somebody, and the tests
//! and checks that answer for each. `crates/turnbuckle-check/requirements/README.md` says how to use it.

mod checks;
mod cited;
mod compare;
mod extract;
mod functions;
mod manifest;
mod mark;
mod markdown;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::tree::Tree;

/// A command of `cargo xtask requirements`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Print every sentence that obliges somebody: hash, level, places, text
    Extract(Pages),
    /// Hold the manifest against the tests and checks, and against the pages if they are given
    Check {
        /// The pages of the specification.
        #[command(flatten)]
        pages: Pages,
        /// Fail for requirements that are still open, and for tested ones with neither check nor reason
        #[arg(long)]
        strict: bool,
    },
    /// Print each requirement: tested here, seen by checks, or why not
    Status,
    /// Set `tested` where these tests are written, and mark them
    Promote {
        /// Paths of tests, as the manifest names them.
        #[arg(required = true)]
        tests: Vec<String>,
    },
    /// Write the markers above tests, and the checks of each requirement into the manifest
    Mark,
}

/// The folders of pages below that of `--spec`, each with its name in the manifest.
const PAGES: [(&str, &str); 6] = [
    ("docs/specification", ""),
    (
        "docs/docs/2026-07-28/tutorials/security",
        "2026-07-28/tutorials/security/",
    ),
    ("docs/extensions/auth", "extensions/auth/"),
    ("ext-auth/specification/draft", "ext-auth/"),
    ("ext-skills/specification/stable", "ext-skills/"),
    ("ext-tasks/specification/draft", "ext-tasks/"),
];

/// The pages of the specification.
#[derive(clap::Args)]
pub(crate) struct Pages {
    /// A checkout of the specification, with the repositories of extensions in `ext-auth`, `ext-skills` and
    /// `ext-tasks`
    #[arg(long, value_name = "FOLDER")]
    spec: Option<PathBuf>,
}

impl Pages {
    fn read(&self) -> Result<Option<Tree>, String> {
        let Some(spec) = &self.spec else {
            return Ok(None);
        };
        let mut pages = Tree::default();
        for (folder, name) in PAGES {
            pages.read_folder(&spec.join(folder), name)?;
        }
        Ok(Some(pages))
    }
}

/// Runs a command; an error lists the faults that it found.
pub(crate) fn run(root: &Path, command: &Command) -> Result<(), String> {
    match command {
        Command::Extract(pages) => print_sentences(pages),
        Command::Check { pages, strict } => check(root, pages, *strict),
        Command::Status => print_status(root),
        Command::Promote { tests } => promote(root, tests).and_then(|()| mark(root)),
        Command::Mark => mark(root),
    }
}

/// Checks the manifest against the tests, with no requirement open.
pub(crate) fn check_strictly(root: &Path) -> Result<(), String> {
    check(root, &Pages { spec: None }, true)
}

/// Returns the paths of all tests, as the manifest names them.
pub(crate) fn test_paths(tree: &Tree) -> BTreeSet<String> {
    let sources = functions::scan(tree);
    compare::tests(&sources)
        .map(|test| test.path.clone())
        .collect()
}

/// Returns the ids of all checks of `turnbuckle-check`.
pub(crate) fn check_ids(tree: &Tree) -> BTreeSet<String> {
    checks::Checks::scan(tree).into_ids()
}

/// Returns the tests that each requirement names.
pub(crate) fn tests_by_requirement(tree: &Tree) -> Result<BTreeMap<String, Vec<String>>, String> {
    let requirements = manifest::load(tree)?.requirements.into_iter();
    Ok(requirements
        .map(|(id, requirement)| (id, requirement.by))
        .collect())
}

fn print_sentences(pages: &Pages) -> Result<(), String> {
    let pages = pages.read()?.ok_or("--spec is missing")?;
    let mut text = String::new();
    for (id, sentence) in extract::extract(&pages)? {
        let places = sentence.places.join(", ");
        let _ = writeln!(
            text,
            "{id}\t{}\t{places}\t{}",
            sentence.level, sentence.text
        );
    }
    print!("{text}");
    Ok(())
}

fn print_status(root: &Path) -> Result<(), String> {
    print!("{}", status::table(&manifest::load(&Tree::read(root)?)?));
    Ok(())
}

fn check(root: &Path, pages: &Pages, strict: bool) -> Result<(), String> {
    let tree = Tree::read(root)?;
    let pages = pages.read()?;
    let manifest = manifest::load(&tree)?;
    let report = compare::compare(&manifest, &functions::scan(&tree), pages.as_ref())?;
    for (status, count) in &report.counts {
        println!("{count:>5} {}", status.word());
    }
    for ready in &report.ready {
        println!("written, to be promoted: {ready}");
    }
    for (visibility, count) in status::counts(&manifest) {
        println!("{count:>5} {}", visibility.words());
    }
    let checks = checks::Checks::scan(&tree);
    let mut faults = report.faults;
    faults.extend(checks.faults(&manifest));
    faults.extend(cited::fault(root, &manifest));
    if let (true, Some(open)) = (strict, report.counts.get(&manifest::Status::Open)) {
        faults.push(format!("{open} requirements are still open"));
    }
    if strict {
        faults.extend(status::faults(&manifest));
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("faults: {}\n{}", faults.len(), faults.join("\n")))
}

fn promote(root: &Path, tests: &[String]) -> Result<(), String> {
    let tree = Tree::read(root)?;
    let manifest = manifest::load(&tree)?;
    let sources = functions::scan(&tree);
    write_all(
        root,
        &mark::with_promotions(&tree, &manifest, &sources, tests)?,
    )
}

fn mark(root: &Path) -> Result<(), String> {
    let tree = Tree::read(root)?;
    let sources = functions::scan(&tree);
    let mut files = mark::with_markers(&tree, &manifest::load(&tree)?, &sources);
    files.extend(checks::Checks::scan(&tree).manifest_files(&tree));
    write_all(root, &files)?;
    // Made of the manifest as it is now.
    let manifest = manifest::load(&Tree::read(root)?)?;
    match cited::fault(root, &manifest) {
        Some(_) => {
            let file = (cited::PATH.to_owned(), cited::text(&manifest));
            write_all(root, &BTreeMap::from([file]))
        }
        None => Ok(()),
    }
}

/// Writes files to their paths from the root.
fn write_all(root: &Path, files: &BTreeMap<String, String>) -> Result<(), String> {
    for (path, text) in files {
        fs::write(root.join(path), text).map_err(|e| format!("{path}: {e}"))?;
        println!("written: {path}");
    }
    Ok(())
}
