//! Rustdoc's JSON of the library crates, and their doc tests.

use std::process::{Command, ExitCode};
use std::thread;

use crate::process::{self, cargo};
use crate::workspace::workspace;

/// The variable with which cargo starts this program in rustdoc's place.
const AS_RUSTDOC: &str = "TURNBUCKLE_XTASK_RUSTDOC";

/// Runs rustdoc where cargo started this program in its place; returns its status then.
///
/// Writes the JSON of a library along with its doc tests, from the dependencies that are built for them.
pub(crate) fn act_as_rustdoc() -> Option<ExitCode> {
    std::env::var_os(AS_RUSTDOC)?;
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let result = match arguments.iter().any(|it| it == "--test") {
        true => thread::scope(|scope| {
            let json = json_of_tests(&arguments);
            let listed =
                json.map(|json| scope.spawn(move || process::run(&mut rustdoc_of_json(&json))));
            // The examples of a proc macro are doc tests of `tests/macros`.
            let tested = match arguments.iter().any(|it| it == "proc-macro") {
                true => Ok(()),
                false => process::run(&mut rustdoc(&arguments)),
            };
            let listed = listed.map_or(Ok(Ok(())), thread::ScopedJoinHandle::join);
            tested.and(listed.unwrap_or_else(|_| Err("a panic".to_owned())))
        }),
        false => process::run(&mut rustdoc_of_json(&arguments)),
    };
    Some(match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}

/// Returns the arguments with which rustdoc writes the JSON of the library whose doc tests it runs with these, if
/// its public API is listed.
fn json_of_tests(arguments: &[String]) -> Option<Vec<String>> {
    let mut json = Vec::new();
    let mut is_listed = false;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--test" => is_listed = rest.as_slice().first()?.starts_with("crates/"),
            "--test-run-directory" | "--test-args" => {
                rest.next();
            }
            _ => json.push(argument.clone()),
        }
    }
    json.push("--out-dir".to_owned());
    json.push(process::target().join("doc").display().to_string());
    is_listed.then_some(json)
}

fn rustdoc(arguments: &[String]) -> Command {
    let mut rustdoc = Command::new("rustdoc");
    rustdoc.args(arguments).env_remove(AS_RUSTDOC);
    rustdoc
}

/// Returns rustdoc as docs.rs runs it, with the labels of features, so a broken link of a comment is an error
/// here; it writes JSON, though.
///
/// The JSON is unstable, so the pinned rustdoc is told to act as a nightly one. Build scripts read
/// the variable that says so, and all that depends on them would be built again: so only rustdoc
/// gets it.
fn rustdoc_of_json(arguments: &[String]) -> Command {
    let mut rustdoc = rustdoc(arguments);
    rustdoc
        .args(["-Zunstable-options", "--output-format=json"])
        .args(["--cfg=docsrs", "--deny=warnings"])
        .env("RUSTC_BOOTSTRAP", "1");
    rustdoc
}

/// Lets cargo start this program in rustdoc's place.
fn replace_rustdoc(cargo: &mut Command) -> Result<&mut Command, String> {
    let this = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    Ok(cargo.env("RUSTDOC", this).env(AS_RUSTDOC, "1"))
}

/// Writes rustdoc's JSON of the crates with every feature.
pub(crate) fn write_json(packages: &[String]) -> Result<(), String> {
    let mut doc = cargo(["doc", "--quiet", "--no-deps", "--lib", "--all-features"]);
    for package in packages {
        doc.args(["--package", package]);
    }
    process::run(replace_rustdoc(&mut doc)?)
}

/// Runs the doc tests of the whole workspace, and writes rustdoc's JSON of its library crates.
pub(crate) fn test_and_write_json() -> Result<(), String> {
    let mut tests = workspace(&["test", "--doc", "--quiet"]);
    process::run(replace_rustdoc(&mut tests)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_json_of_a_library_is_written_with_the_arguments_of_its_doc_tests() {
        let tests = "--crate-name a --test crates/a/src/lib.rs --test-run-directory /a --test-args --quiet --extern b=b";
        let json = json_of_tests(&words(tests)).unwrap();
        let kept = words("--crate-name a crates/a/src/lib.rs --extern b=b --out-dir");
        assert_eq!(json[..kept.len()], kept);
        assert_eq!(json.len(), kept.len() + 1);
        let of_tests = tests.replace("crates/a", "tests/a");
        assert_eq!(json_of_tests(&words(&of_tests)), None);
    }
}
