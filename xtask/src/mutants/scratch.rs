//! A copy of the workspace in which sources are changed and tests run.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use super::Mutation;
use crate::tree::is_generated;

/// The longest build.
const BUILD_TIMEOUT: Duration = Duration::from_secs(1800);

/// The longest run of the named tests. A test that only hangs under a mutation does not fail.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// The result of a run of the named tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    DoesNotCompile,
    NoSuchTest,
    TimedOut,
}

/// The copy, with its own target folder and the output of its tests.
pub(super) struct Scratch {
    original: PathBuf,
    folder: PathBuf,
}

impl Scratch {
    /// Describes a copy of `original` in `folder`.
    pub(super) fn new(original: &Path, folder: &Path) -> Self {
        Self {
            original: original.to_owned(),
            folder: folder.to_owned(),
        }
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    /// Returns the folder of what cargo builds of the copy.
    pub(super) fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    /// Returns the folder of the tests' outputs, a file for each mutation.
    pub(super) fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    /// Makes the copy equal to the original. Files that did not change keep their times, so that
    /// cargo builds them once.
    pub(super) fn update(&self) -> Result<(), String> {
        mirror(&self.original, &self.workspace()).map_err(|error| {
            format!(
                "copying {} to {}: {error}",
                self.original.display(),
                self.folder.display()
            )
        })
    }

    /// Checks that the mutation applies and its tests pass without it. The inner error says why
    /// not, the outer one that the copy could not be used.
    pub(super) fn passes_unchanged(
        &self,
        mutation: &Mutation,
    ) -> Result<Result<(), String>, String> {
        let text = fs::read_to_string(self.workspace().join(&mutation.file));
        let applied = text
            .map_err(|_| format!("no file {}", mutation.file))
            .and_then(|text| mutation.apply(&text));
        if let Err(reason) = applied {
            return Ok(Err(reason));
        }
        Ok(match self.test(mutation)? {
            Outcome::Passed => Ok(()),
            outcome => Err(format!("without the change: {outcome:?}")),
        })
    }

    /// Checks that one of the mutation's tests fails under it; the copy is as before afterwards.
    pub(super) fn fails_changed(&self, mutation: &Mutation) -> Result<Result<(), String>, String> {
        let outcome = self.with_changes(&[mutation], || self.test(mutation))?;
        Ok(match outcome? {
            Outcome::Failed => Ok(()),
            outcome => Err(format!("with the change: {outcome:?}")),
        })
    }

    /// Runs the tests of a mutation.
    fn test(&self, mutation: &Mutation) -> Result<Outcome, String> {
        let log = self.logs().join(&mutation.id);
        let ran = (|| {
            fs::create_dir_all(self.logs())?;
            let package = mutation.package.as_str();
            // Everything, since a test may start an example of its package.
            if self.cargo(
                &["test", "--package", package, "--all-features", "--no-run"],
                BUILD_TIMEOUT,
                &log,
            )? != Some(true)
            {
                return Ok(Outcome::DoesNotCompile);
            }
            let run = [
                "test",
                "--package",
                package,
                "--all-features",
                "--tests",
                "--no-fail-fast",
                "--",
                &mutation.test,
            ];
            Ok(match self.cargo(&run, TEST_TIMEOUT, &log)? {
                None => Outcome::TimedOut,
                Some(false) => Outcome::Failed,
                Some(true) if has_passed(&fs::read_to_string(&log)?) => Outcome::Passed,
                Some(true) => Outcome::NoSuchTest,
            })
        })();
        ran.map_err(|error: io::Error| {
            format!("running the tests of {}: {error}", mutation.package)
        })
    }

    /// Runs `work` on sources with these changes, and puts the sources back.
    pub(super) fn with_changes<T>(
        &self,
        mutations: &[&Mutation],
        work: impl FnOnce() -> T,
    ) -> Result<T, String> {
        let mut originals = Vec::new();
        let mut changed = Ok(());
        for mutation in mutations {
            let path = self.workspace().join(&mutation.file);
            let unusable = |error| format!("{}: {error}", path.display());
            changed = fs::read_to_string(&path)
                .map_err(unusable)
                .and_then(|text| {
                    fs::write(&path, mutation.apply(&text)?).map_err(unusable)?;
                    originals.push((path.clone(), text));
                    Ok(())
                });
            if changed.is_err() {
                break;
            }
        }
        let result = changed.map(|()| work());
        // The last change first: two mutations may change one file.
        for (path, text) in originals.into_iter().rev() {
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        result
    }

    /// Builds a program of the copy. Returns whether it compiles.
    pub(super) fn build(&self, package: &str) -> Result<bool, String> {
        let built = fs::create_dir_all(self.logs()).and_then(|()| {
            let log = self.logs().join(format!("build-{package}"));
            self.cargo(&["build", "--package", package], BUILD_TIMEOUT, &log)
        });
        let built = built.map_err(|error| format!("building {package}: {error}"))?;
        Ok(built == Some(true))
    }

    /// Returns whether cargo succeeded; nothing when it was killed after `timeout`.
    fn cargo(&self, arguments: &[&str], timeout: Duration, log: &Path) -> io::Result<Option<bool>> {
        let log = File::create(log)?;
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .args(arguments)
            .current_dir(self.workspace())
            .env("CARGO_TARGET_DIR", self.target())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        run_for(&mut command, timeout)
    }
}

/// Returns whether a command succeeded; nothing when it was killed after `timeout`.
pub(super) fn run_for(command: &mut Command, timeout: Duration) -> io::Result<Option<bool>> {
    let mut child = command.process_group(0).spawn()?;
    let began = Instant::now();
    while began.elapsed() < timeout {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        thread::sleep(Duration::from_millis(20));
    }
    // The whole group: what hangs is a child of it.
    let group = format!("-{}", child.id());
    Command::new("kill")
        .args(["-KILL", "--", &group])
        .status()?;
    child.wait()?;
    Ok(None)
}

/// Returns whether the output of `cargo test` reports a test that passed.
fn has_passed(output: &str) -> bool {
    let results = output
        .lines()
        .filter_map(|line| line.strip_prefix("test result: ok. "));
    results
        .into_iter()
        .any(|counts| !counts.starts_with("0 passed"))
}

fn mirror(original: &Path, copy: &Path) -> io::Result<()> {
    fs::create_dir_all(copy)?;
    for entry in fs::read_dir(copy)? {
        let entry = entry?;
        if !original.join(entry.file_name()).exists() {
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
    }
    for entry in fs::read_dir(original)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        let text = name.to_string_lossy();
        let to = copy.join(&name);
        if kind.is_dir() && !is_generated(original, &text) {
            mirror(&entry.path(), &to)?;
        } else if kind.is_file() {
            let content = fs::read(entry.path())?;
            if fs::read(&to).ok().as_deref() != Some(&content) {
                fs::write(&to, content)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_tests_has_not_passed() {
        let none = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 3 filtered out\n";
        assert!(!has_passed(none));
        assert!(has_passed(&format!(
            "{none}running 1 test\ntest result: ok. 1 passed; 0 failed\n"
        )));
    }
}
