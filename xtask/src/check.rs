//! `cargo xtask check`: what one runs while working, in under two minutes when little has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::metadata::metadata;
use crate::process::{self, cargo, output};
use crate::requirements;
use crate::tidy;

/// Packages that are tested with a package that they depend on only if they changed themselves: the
/// whole of them takes minutes.
const SLOW: &[&str] = &["turnbuckle-it", "turnbuckle-soak", "turnbuckle-interop"];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The branch or commit that the changes are compared with
    #[arg(long, default_value = "main")]
    base: String,
}

/// Checks format, rules, requirements and lints, then runs the tests of the packages that changed
/// and of those that depend on them.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let changed = changed_packages(&options.base)?;
    step("format", || {
        process::run(&mut cargo(["fmt", "--all", "--check"]))
    })?;
    step("tidy", || tidy::run(&tidy::Options::default()))?;
    step("requirements", check_requirements)?;
    step("lints", || {
        process::run(&mut cargo([
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "--deny=warnings",
        ]))
    })?;
    if changed.is_empty() {
        println!("no package differs from {}: no test is run", options.base);
        return Ok(());
    }
    let names: Vec<_> = changed.iter().map(String::as_str).collect();
    println!("== tests of {}", names.join(", "));
    step("tests", || {
        let build = |subcommand: &[&str]| {
            let mut tests = cargo(subcommand.iter().copied());
            for name in &names {
                tests.args(["--package", name]);
            }
            tests
        };
        test(build, Choice::All)
    })
}

/// Checks the requirements against the tests.
pub(crate) fn check_requirements() -> Result<(), String> {
    requirements::check_strictly(&process::root())
}

/// Takes a step and prints its time.
pub(crate) fn step(name: &str, take: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    println!("== {name}");
    let began = Instant::now();
    take().map_err(|error| format!("{name}: {error}"))?;
    println!("== {name}: {:.1} s", began.elapsed().as_secs_f64());
    Ok(())
}

/// The tests that run. `.config/nextest.toml` names the exhaustive ones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// All but the exhaustive ones.
    Quick,
    /// The exhaustive ones.
    Exhaustive,
    /// All.
    All,
}

/// Runs the tests of the packages that `build` adds to a subcommand of cargo; doc tests are another command.
/// Without cargo-nextest, all of them run.
pub(crate) fn test(build: impl FnOnce(&[&str]) -> Command, choice: Choice) -> Result<(), String> {
    // cargo-nextest runs the tests of all binaries side by side.
    let has_nextest = output(&mut cargo(["nextest", "--version"])).is_ok();
    let mut tests = match has_nextest {
        true => build(&["nextest", "run"]),
        false => build(&["test", "--quiet", "--all-targets"]),
    };
    tests.arg("--no-fail-fast");
    if has_nextest {
        tests.args(["--status-level=fail", "--no-tests=pass"]);
        tests.arg(format!("--test-threads={}", test_threads()));
        if choice != Choice::Quick {
            tests.arg("--ignore-default-filter");
        }
        if choice == Choice::Exhaustive {
            tests.arg("--filterset=not default()");
        }
    }
    process::run(&mut tests)
}

/// Returns how many tests run at once: more than there are cores, because many tests wait for time.
fn test_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores + cores.div_ceil(2)
}

/// Returns the packages that differ from the merge base with `base`, and those that depend on them.
fn changed_packages(base: &str) -> Result<BTreeSet<String>, String> {
    let merge_base = output(&mut git(["merge-base", base, "HEAD"]))?;
    let mut paths = output(&mut git(["diff", "--name-only", merge_base.trim()]))?;
    paths.push_str(&output(&mut git([
        "ls-files",
        "--others",
        "--exclude-standard",
    ]))?);
    let described = metadata()?;
    Ok(affected_packages(
        &described,
        &process::root(),
        paths.lines(),
    ))
}

/// Returns the packages that hold one of the paths, and those that depend on them.
fn affected_packages<'a>(
    metadata: &Value,
    root: &Path,
    paths: impl Iterator<Item = &'a str>,
) -> BTreeSet<String> {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let name = |package: &Value| package["name"].as_str().unwrap_or_default().to_owned();
    let folder = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        manifest
            .parent()?
            .strip_prefix(root)
            .map(Path::to_owned)
            .ok()
    };
    let folders: BTreeMap<_, _> = packages()
        .map(|package| (folder(package), name(package)))
        .collect();
    let package_of = |path: &str| {
        let mut above = Path::new(path).ancestors();
        above.find_map(|above| folders.get(&Some(above.to_owned())).cloned())
    };
    let mut affected: BTreeSet<String> = paths.filter_map(package_of).collect();
    loop {
        let depends = |package: &&Value| {
            let mut dependencies = package["dependencies"].as_array().into_iter().flatten();
            dependencies.any(|other| affected.contains(&name(other)))
        };
        let more = packages().filter(depends).map(name);
        let is_new = |name: &String| !SLOW.contains(&name.as_str()) && !affected.contains(name);
        let more: Vec<_> = more.filter(is_new).collect();
        if more.is_empty() {
            return affected;
        }
        affected.extend(more);
    }
}

fn git<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut git = Command::new("git");
    git.current_dir(process::root()).args(arguments);
    git
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_affects_its_package_and_those_that_depend_on_it() {
        let package = |name: &str, path: &str, dependency: &str| {
            let manifest = format!("/r/{path}/Cargo.toml");
            json!({"name": name, "manifest_path": manifest, "dependencies": [{"name": dependency}]})
        };
        let metadata = json!({"packages": [
            package("a", "crates/a", "serde"),
            package("b", "crates/b", "a"),
            package("c", "crates/c", "b"),
            package("turnbuckle-it", "tests/it", "c"),
            package("d", "crates/d", "serde"),
        ]});
        let names = |paths: &[&str]| -> Vec<String> {
            affected_packages(&metadata, Path::new("/r"), paths.iter().copied())
                .into_iter()
                .collect()
        };
        assert_eq!(
            names(&["crates/a/src/x/y.rs", "README.md"]),
            ["a", "b", "c"]
        );
        assert_eq!(
            names(&["crates/d/Cargo.toml", "tests/it/src/lib.rs"]),
            ["d", "turnbuckle-it"]
        );
        assert_eq!(names(&["docs/x.md"]), [""; 0]);
    }
}
