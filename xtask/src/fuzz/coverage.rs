//! `cargo xtask fuzz --coverage [TARGET…]`: which lines of the files that a target is about its
//! inputs reach, the kept ones and what the fuzzer has learned here.
//!
//! The targets are built as an ordinary program with rustc's own instrumentation: neither the
//! fuzzer nor a nightly compiler is needed, only the toolchain's llvm-tools, or others that
//! `LLVM_PROFDATA` and `LLVM_COV` name and that read what this compiler writes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

use crate::process::{cannot_start, cargo, root, run as run_to_end, shown, target};

/// What each target is about: the beginnings of paths.
const ABOUT: &[(&str, &[&str])] = &[
    (
        "arguments",
        &[
            "crates/turnbuckle-schema/src/fast",
            "crates/turnbuckle-server/src/schema",
        ],
    ),
    (
        "client",
        &[
            "crates/turnbuckle-client/src",
            "crates/turnbuckle-session/src/conversation",
        ],
    ),
    (
        "config",
        &[
            "crates/turnbuckle-cli/src/config/expand.rs",
            "crates/turnbuckle-cli/src/config/jsonc.rs",
            "crates/turnbuckle-cli/src/config/servers.rs",
        ],
    ),
    (
        "cursor",
        &[
            "crates/turnbuckle-server/src/catalog/page.rs",
            "crates/turnbuckle-server/src/catalog/list.rs",
        ],
    ),
    (
        "envelope",
        &[
            "crates/turnbuckle-wire/src/era/opening.rs",
            "crates/turnbuckle-wire/src/era/params",
            "crates/turnbuckle-wire/src/era/headers/check.rs",
        ],
    ),
    ("events", &["crates/turnbuckle-http/src/client/decode.rs"]),
    (
        "headers",
        &[
            "crates/turnbuckle-wire/src/era/headers",
            "crates/turnbuckle-wire/src/era/param_headers.rs",
        ],
    ),
    (
        "http",
        &[
            "crates/turnbuckle-http/src/streamable",
            "crates/turnbuckle-http/src/sse",
            "crates/turnbuckle-http/src/head.rs",
            "crates/turnbuckle-http/src/origin.rs",
            "crates/turnbuckle-http/src/body.rs",
        ],
    ),
    ("lines", &["crates/turnbuckle-stdio/src/framing.rs"]),
    (
        "pipe",
        &[
            "crates/turnbuckle-session/src/pipe.rs",
            "crates/turnbuckle-session/src/session.rs",
            "crates/turnbuckle-session/src/kernel",
            "crates/turnbuckle-session/src/batch.rs",
            "crates/turnbuckle-session/src/outgoing.rs",
        ],
    ),
    ("rpc", &["crates/turnbuckle-wire/src/rpc"]),
    (
        "schema",
        &[
            "crates/turnbuckle-schema/src/check.rs",
            "crates/turnbuckle-schema/src/cost.rs",
            "crates/turnbuckle-schema/src/plan.rs",
            "crates/turnbuckle-schema/src/validator.rs",
        ],
    ),
    ("state", &["crates/turnbuckle-server/src/input"]),
    (
        "uri_template",
        &["crates/turnbuckle-server/src/uri_template"],
    ),
    ("web", &["crates/turnbuckle-http/src/client"]),
];

/// Lines: those there are, and those that were reached.
type Lines = (u64, u64);

/// Replays the inputs of these targets and prints a table.
pub(super) fn run(chosen: &[String]) -> Result<(), String> {
    let tools = Tools::find()?;
    let program = build()?;
    println!("{:<14}{:>8}{:>8}{:>8}", "target", "lines", "reached", "%");
    for name in chosen {
        let (lines, reached) = tools.covered(&program, name)?;
        let percent = 100 * reached / lines.max(1);
        println!("{name:<14}{lines:>8}{reached:>8}{percent:>8}");
    }
    Ok(())
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

/// What reads profiles.
struct Tools {
    profdata: PathBuf,
    cov: PathBuf,
}

impl Tools {
    /// Those that the environment names, else the toolchain's own.
    fn find() -> Result<Self, String> {
        let named = |name| env::var_os(name).map(PathBuf::from);
        if let (Some(profdata), Some(cov)) = (named("LLVM_PROFDATA"), named("LLVM_COV")) {
            return Ok(Self { profdata, cov });
        }
        let libraries = output(Command::new("rustc").args(["--print", "target-libdir"]))?;
        let libraries = String::from_utf8_lossy(&libraries).into_owned();
        let tools = Path::new(libraries.trim()).with_file_name("bin");
        let (profdata, cov) = (tools.join("llvm-profdata"), tools.join("llvm-cov"));
        match profdata.exists() && cov.exists() {
            true => Ok(Self { profdata, cov }),
            false => Err("coverage takes\n\n    rustup component add llvm-tools\n\n\
                          or LLVM_PROFDATA and LLVM_COV, which say where such tools are"
                .to_owned()),
        }
    }

    /// The lines that a target is about, after it has run on its inputs.
    fn covered(&self, program: &Path, name: &str) -> Result<Lines, String> {
        let about = ABOUT.iter().find(|(target, _)| *target == name);
        let (_, about) = about.ok_or_else(|| format!("{name} is about nothing; see ABOUT"))?;
        let raw = folder().join(format!("{name}.profraw"));
        let merged = folder().join(format!("{name}.profdata"));
        let mut replay = Command::new(program);
        replay.env("LLVM_PROFILE_FILE", &raw);
        replay.arg(name).arg(root().join("fuzz/corpus").join(name));
        let learned = super::learned(name);
        if learned.is_dir() {
            replay.arg(learned);
        }
        run_to_end(&mut replay)?;
        let mut merge = Command::new(&self.profdata);
        run_to_end(
            merge
                .args(["merge", "--sparse", "--output"])
                .args([&merged, &raw]),
        )?;
        let mut export = Command::new(&self.cov);
        let export = export.args(["export", "--summary-only", "--instr-profile"]);
        let report = output(export.args([&merged, program]))?;
        fs::remove_file(&raw).map_err(|error| format!("{}: {error}", raw.display()))?;
        let report = serde_json::from_slice(&report).map_err(|error| error.to_string())?;
        Ok(lines_of(&report, about))
    }
}

/// The lines of the files whose paths in the repository begin so.
fn lines_of(report: &Value, about: &[&str]) -> Lines {
    let files = report["data"][0]["files"].as_array();
    let mut lines = (0, 0);
    for file in files.into_iter().flatten() {
        let path = file["filename"].as_str().unwrap_or_default();
        // A file that is included from elsewhere is named by the way there.
        let path = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
        let path = path.strip_prefix(root()).unwrap_or(&path);
        let path = path.to_string_lossy();
        if about.iter().any(|start| path.starts_with(start)) && !path.contains("tests") {
            let count = |name: &str| file["summary"]["lines"][name].as_u64().unwrap_or_default();
            lines = (lines.0 + count("count"), lines.1 + count("covered"));
        }
    }
    lines
}

fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command
        .output()
        .map_err(|error| cannot_start(command, &error))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!(
            "{}: {}\n{}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn every_target_is_about_files_that_are_there() {
        let targets = super::super::targets(&root().join("fuzz/fuzz_targets")).unwrap();
        let about: BTreeSet<_> = ABOUT.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(about, targets.into_iter().collect());
        for path in ABOUT.iter().flat_map(|(_, paths)| *paths) {
            let path = root().join(path);
            assert!(
                path.exists() || path.with_extension("rs").exists(),
                "{path:?}"
            );
        }
    }

    #[test]
    fn only_lines_of_the_files_in_question_count() {
        let file = |path: &str, covered: u64| {
            json!({"filename": root().join(path),
                "summary": {"lines": {"count": 10, "covered": covered}}})
        };
        let report = json!({"data": [{"files": [
            file("crates/a/src/x.rs", 7), file("crates/a/src/x/y.rs", 2),
            file("crates/a/src/x/tests.rs", 9), file("crates/b/src/x.rs", 9),
        ]}]});
        assert_eq!(lines_of(&report, &["crates/a/src/x"]), (20, 9));
    }
}
