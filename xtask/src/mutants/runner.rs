//! Runs the tests that a mutation names and says what they said.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

/// How long building may take.
const BUILD: Duration = Duration::from_secs(1800);

/// How long the named tests may take. A test that only hangs under a mutation is not red.
const TESTS: Duration = Duration::from_secs(120);

/// What a run of the named tests said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed,
    DoesNotCompile,
    NoSuchTest,
    Hung,
}

/// Runs tests of one workspace.
pub(super) struct Runner {
    workspace: PathBuf,
    folder: PathBuf,
}

impl Runner {
    /// What is built and printed stays in `folder`.
    pub(super) fn new(workspace: &Path, folder: &Path) -> Self {
        Self {
            workspace: workspace.to_owned(),
            folder: folder.to_owned(),
        }
    }

    /// Where the last run's output is.
    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Where the outputs are that were kept.
    pub(super) fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    /// Keeps the last run's output under a name of its own.
    pub(super) fn keep_log(&self, name: &str) -> Result<(), String> {
        let logs = self.logs();
        fs::create_dir_all(&logs)
            .and_then(|()| fs::copy(self.log(), logs.join(name)))
            .map(drop)
            .map_err(|error| format!("{}: {error}", logs.display()))
    }

    /// The tests of `package` whose names hold `filter`.
    pub(super) fn test(&self, package: &str, filter: &str) -> Result<Verdict, String> {
        let ran = (|| {
            // Everything, since a test may start an example of its package.
            let build = ["test", "--package", package, "--no-run"];
            if self.cargo(&build, BUILD)? != Some(true) {
                return Ok(Verdict::DoesNotCompile);
            }
            let run = [
                "test",
                "--package",
                package,
                "--tests",
                "--no-fail-fast",
                "--",
                filter,
            ];
            Ok(match self.cargo(&run, TESTS)? {
                None => Verdict::Hung,
                Some(false) => Verdict::Failed,
                Some(true) if ran_any(&fs::read_to_string(self.log())?) => Verdict::Passed,
                Some(true) => Verdict::NoSuchTest,
            })
        })();
        ran.map_err(|error: io::Error| format!("running the tests of {package}: {error}"))
    }

    /// Whether cargo succeeded; nothing when it had to be stopped.
    fn cargo(&self, arguments: &[&str], patience: Duration) -> io::Result<Option<bool>> {
        let log = File::create(self.log())?;
        let mut child = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(arguments)
            .current_dir(&self.workspace)
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()?;
        let began = Instant::now();
        while began.elapsed() < patience {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status.success()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        // The whole group: what hangs is a child of cargo.
        let group = format!("-{}", child.id());
        Command::new("kill")
            .args(["-KILL", "--", &group])
            .status()?;
        child.wait()?;
        Ok(None)
    }
}

/// Whether the output of `cargo test` tells of a test that passed.
fn ran_any(output: &str) -> bool {
    let results = output
        .lines()
        .filter_map(|line| line.strip_prefix("test result: ok. "));
    results
        .into_iter()
        .any(|counts| !counts.starts_with("0 passed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_tests_is_told_from_one_with() {
        let none = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 3 filtered out\n";
        assert!(!ran_any(none));
        assert!(ran_any(&format!(
            "{none}running 1 test\ntest result: ok. 1 passed; 0 failed\n"
        )));
    }
}
