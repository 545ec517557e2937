//! `cargo xtask fuzz --coverage`: how many lines the inputs of each target reach, of the files that
//! `fuzz/coverage.toml` names for it. The inputs are those that are kept and those that the fuzzer
//! has found here.
//!
//! The targets are built as an ordinary program with rustc's own instrumentation, which needs
//! neither the fuzzer nor a nightly compiler, only the toolchain's llvm-tools, or others that
//! `LLVM_PROFDATA` and `LLVM_COV` name and that read what this compiler writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

use crate::process::{cargo, output, root, run as run_to_end, target};

/// Beginnings of paths, by target.
type Table = BTreeMap<String, Vec<String>>;

/// Runs the targets on their inputs and prints a table.
pub(super) fn run(chosen: &[String]) -> Result<(), String> {
    let (table, tools) = (table()?, Tools::find()?);
    let program = build()?;
    println!("{:<14}{:>8}{:>8}{:>8}", "target", "lines", "reached", "%");
    for name in chosen {
        let files = table
            .get(name)
            .ok_or_else(|| format!("{name} is not in fuzz/coverage.toml"))?;
        let (lines, reached) = tools.cover(&program, name, files)?;
        println!(
            "{name:<14}{lines:>8}{reached:>8}{:>8}",
            100 * reached / lines.max(1)
        );
    }
    Ok(())
}

fn table() -> Result<Table, String> {
    let text = fs::read_to_string(root().join("fuzz/coverage.toml"));
    let text = text.map_err(|error| format!("fuzz/coverage.toml: {error}"))?;
    toml::from_str(&text).map_err(|error| format!("fuzz/coverage.toml: {error}"))
}

fn folder() -> PathBuf {
    target().join("coverage")
}

/// Builds the program that runs a target on files.
fn build() -> Result<PathBuf, String> {
    let mut build = cargo([
        "build",
        "--quiet",
        "--package=turnbuckle-it",
        "--bin=replay",
    ]);
    build.arg("--target-dir").arg(folder());
    run_to_end(build.env("RUSTFLAGS", "-Cinstrument-coverage"))?;
    Ok(folder().join("debug/replay"))
}

/// The programs that read profiles.
struct Tools {
    profdata: PathBuf,
    cov: PathBuf,
}

impl Tools {
    /// Finds those that the environment names, else the toolchain's own.
    fn find() -> Result<Self, String> {
        let from_env = |name| env::var_os(name).map(PathBuf::from);
        if let (Some(profdata), Some(cov)) = (from_env("LLVM_PROFDATA"), from_env("LLVM_COV")) {
            return Ok(Self { profdata, cov });
        }
        let libraries = output(Command::new("rustc").args(["--print", "target-libdir"]))?;
        let tools = Path::new(libraries.trim()).with_file_name("bin");
        let (profdata, cov) = (tools.join("llvm-profdata"), tools.join("llvm-cov"));
        match profdata.exists() && cov.exists() {
            true => Ok(Self { profdata, cov }),
            false => Err("coverage needs\n\n    rustup component add llvm-tools\n\n\
                          or LLVM_PROFDATA and LLVM_COV with the paths of such tools"
                .to_owned()),
        }
    }

    /// Runs a target on its inputs; returns the lines of the files, and those that were reached.
    fn cover(&self, program: &Path, name: &str, files: &[String]) -> Result<(u64, u64), String> {
        let raw = folder().join(format!("{name}.profraw"));
        let merged = folder().join(format!("{name}.profdata"));
        let mut replay = Command::new(program);
        replay.env("LLVM_PROFILE_FILE", &raw);
        replay.arg(name).arg(root().join("fuzz/corpus").join(name));
        let found = super::found_corpus(name);
        if found.is_dir() {
            replay.arg(found);
        }
        run_to_end(&mut replay)?;
        let mut merge = Command::new(&self.profdata);
        run_to_end(
            merge
                .args(["merge", "--sparse", "--output"])
                .args([&merged, &raw]),
        )?;
        let mut export = Command::new(&self.cov);
        export
            .args(["export", "--summary-only", "--instr-profile"])
            .args([&merged, program]);
        let report =
            serde_json::from_str(&output(&mut export)?).map_err(|error| error.to_string())?;
        fs::remove_file(&raw).map_err(|error| format!("{}: {error}", raw.display()))?;
        Ok(count(&report, files))
    }
}

/// Counts the lines of the files whose paths begin so, and those that were reached.
fn count(report: &Value, files: &[String]) -> (u64, u64) {
    let mut lines = (0, 0);
    for file in report["data"][0]["files"].as_array().into_iter().flatten() {
        let path = file["filename"].as_str().unwrap_or_default();
        // A file that is included from elsewhere is named by the way there.
        let path = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
        let path = path.strip_prefix(root()).unwrap_or(&path).to_string_lossy();
        if files.iter().any(|start| path.starts_with(start)) && !path.contains("tests") {
            let number = |name: &str| file["summary"]["lines"][name].as_u64().unwrap_or_default();
            lines = (lines.0 + number("count"), lines.1 + number("covered"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_target_is_in_the_table_and_the_files_are_there() {
        let (table, targets) = (table().unwrap(), super::super::targets().unwrap());
        assert_eq!(table.keys().cloned().collect::<Vec<_>>(), targets);
        for path in table.values().flatten() {
            let path = root().join(path);
            assert!(
                path.exists() || path.with_extension("rs").exists(),
                "{path:?}"
            );
        }
    }

    #[test]
    fn only_lines_of_the_files_in_question_count() {
        let file = |path: &str, covered: u64| json!({"filename": root().join(path), "summary": {"lines": {"count": 10, "covered": covered}}});
        let report = json!({"data": [{"files": [
            file("crates/a/src/x.rs", 7), file("crates/a/src/x/y.rs", 2),
            file("crates/a/src/x/tests.rs", 9), file("crates/b/src/x.rs", 9),
        ]}]});
        assert_eq!(count(&report, &["crates/a/src/x".to_owned()]), (20, 9));
    }
}
