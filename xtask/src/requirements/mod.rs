//! `cargo xtask requirements`: the sentences of the specification that oblige a server, and who
//! answers for each. `tests/requirements/README.md` says how to use it.

mod check;
mod extract;
mod lexer;
mod manifest;
mod mark;
mod markdown;
mod tests_in_source;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::process;
use crate::tree::Tree;

const USAGE: &str = "usage:
  requirements extract --spec DIR            print every sentence: hash, level, places, text
  requirements check [--spec DIR] [--strict] hold the manifest against tests and pages
  requirements promote TEST...               set `tested` where these tests are written; mark them
  requirements mark                          write the markers above tests";

/// Runs one of the commands of the usage text.
///
/// # Errors
///
/// What is wrong, ready to be printed: bad arguments, a file that cannot be read or parsed, or the
/// faults that a check found.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (command, rest) = args.split_first().ok_or(USAGE)?;
    match command.as_str() {
        "extract" => print_sentences(&Options::parse(rest)?),
        "check" => print_check(&Options::parse(rest)?),
        "promote" if !rest.is_empty() => promote(rest).and_then(|()| mark()),
        "mark" if rest.is_empty() => mark(),
        _ => Err(USAGE.to_owned()),
    }
}

/// The paths of all tests, as they are named in the manifest.
pub(crate) fn test_paths(tree: &Tree) -> BTreeSet<String> {
    let sources = tests_in_source::scan(tree);
    check::tests(&sources)
        .map(|test| test.path.clone())
        .collect()
}

fn print_sentences(options: &Options) -> Result<(), String> {
    let pages = options.pages()?.ok_or(USAGE)?;
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

fn print_check(options: &Options) -> Result<(), String> {
    let tree = Tree::read(&process::root())?;
    let pages = options.pages()?;
    let manifest = manifest::load(&tree)?;
    let report = check::check(&manifest, &tests_in_source::scan(&tree), pages.as_ref())?;
    for (status, count) in &report.counts {
        println!("{count:>5} {}", status.word());
    }
    for ready in &report.ready {
        println!("written, to be promoted: {ready}");
    }
    let mut faults = report.faults;
    if let (true, Some(open)) = (options.strict, report.counts.get(&manifest::Status::Open)) {
        faults.push(format!("{open} requirements are still open"));
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("faults: {}\n{}", faults.len(), faults.join("\n")))
}

fn promote(tests: &[String]) -> Result<(), String> {
    let tree = Tree::read(&process::root())?;
    let manifest = manifest::load(&tree)?;
    let sources = tests_in_source::scan(&tree);
    write_all(&mark::promoted(&tree, &manifest, &sources, tests)?)
}

fn mark() -> Result<(), String> {
    let tree = Tree::read(&process::root())?;
    let sources = tests_in_source::scan(&tree);
    write_all(&mark::marked(&tree, &manifest::load(&tree)?, &sources))
}

/// Writes files, by their path from the root.
fn write_all(files: &BTreeMap<String, String>) -> Result<(), String> {
    for (path, text) in files {
        fs::write(process::root().join(path), text).map_err(|e| format!("{path}: {e}"))?;
        println!("written: {path}");
    }
    Ok(())
}

#[derive(Default)]
struct Options {
    spec: Option<PathBuf>,
    strict: bool,
}

impl Options {
    /// The pages of the specification, if it was named.
    fn pages(&self) -> Result<Option<Tree>, String> {
        let read = |spec: &PathBuf| Tree::read(&spec.join("docs/specification"));
        self.spec.as_ref().map(read).transpose()
    }

    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--spec" => options.spec = Some(args.next().ok_or(USAGE)?.into()),
                "--strict" => options.strict = true,
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(options)
    }
}
