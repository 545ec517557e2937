//! Errors of the compiler about mistakes in the use of the attributes.

use std::fs;
use std::path::PathBuf;

/// The most lines that the compiler prints for a file with mistakes.
const MAX_LINES: usize = 30;

/// Compiler errors for refused code, compared with the expected texts.
#[test]
fn compile_errors_match_the_expected_output() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

/// The first line of each file has what its first error must say.
#[test]
fn compile_errors_are_short_and_the_first_has_the_answer() {
    let entries = fs::read_dir("tests/ui").unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let sources: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .collect();
    assert!(sources.len() > 40);
    for path in sources {
        let source = fs::read_to_string(&path).unwrap();
        let answer = source.lines().next().unwrap();
        let answer = answer
            .strip_prefix("// Answer: ")
            .expect("it has an answer");
        let output = fs::read_to_string(path.with_extension("stderr")).unwrap();
        let lines = output.lines().count();
        assert!(lines <= MAX_LINES, "{path:?} has {lines} lines");
        let first = output.split("\n\n").next().unwrap();
        assert!(first.contains(answer), "{path:?}: {first}");
    }
}
