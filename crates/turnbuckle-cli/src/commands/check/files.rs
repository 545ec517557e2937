//! The files that a project keeps of its server: the baseline and the lock.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use turnbuckle_check::baseline::{Baseline, MAX_BASELINE_BYTES};
use turnbuckle_check::lock::{Lock, MAX_LOCK_BYTES};
use turnbuckle_check::report::{Kind, Report};
use turnbuckle_check::{Checker, ClientChecker, FileError};

use super::args::CheckArgs;
use crate::error::CliError;
use crate::input::{open_file, read_text_limited};

/// The baseline and the lock of a command line.
pub(super) struct Files {
    kind: Kind,
    baseline: Option<(PathBuf, Baseline)>,
    updates_baseline: bool,
    /// The path of the lock, and the lock to compare with.
    lock: Option<(PathBuf, Option<Lock>)>,
}

impl Files {
    /// Reads the files, before anything is checked.
    ///
    /// # Errors
    /// Fails for a file that is broken, and for a baseline that is missing and not to be written.
    pub(super) fn read(args: &CheckArgs) -> Result<Self, CliError> {
        let kind = match args.client {
            true => Kind::Client,
            false => Kind::Server,
        };
        let baseline = match &args.baseline {
            None => None,
            Some(path) if args.update_baseline && !path.exists() => {
                Some((path.clone(), Baseline::default()))
            }
            Some(path) => Some((path.clone(), read_baseline(path, kind)?)),
        };
        if args.update_baseline && args.baseline.as_deref().is_some_and(is_official) {
            return Err(CliError::usage(
                "an expected-failures file of the official suite is not written",
            )
            .hint("name another file: `--baseline check.toml --update-baseline`"));
        }
        let lock = match &args.lock {
            None => None,
            Some(path) if args.update_lock || !path.exists() => Some((path.clone(), None)),
            Some(path) => Some((path.clone(), Some(read_lock(path)?))),
        };
        Ok(Self {
            kind,
            baseline,
            updates_baseline: args.update_baseline,
            lock,
        })
    }

    /// Compares the report with the files, and writes those that are to be written.
    pub(super) fn apply(&self, report: &mut Report) -> Result<(), CliError> {
        match &self.lock {
            None => {}
            Some((_, Some(lock))) => lock.compare(report),
            Some((path, None)) => match Lock::from_report(report) {
                Some(lock) => {
                    write(path, |out| lock.write(out))?;
                    let note = format!("the lock was written to {}", path.display());
                    report.notes.push(note);
                }
                None => {
                    let note = "no lock was written: the server listed nothing";
                    report.notes.push(note.to_owned());
                }
            },
        }
        report.bound();
        if let Some((path, baseline)) = &self.baseline {
            if !self.updates_baseline {
                baseline.apply(report);
                return Ok(());
            }
            let text = baseline.renew(report);
            write(path, |out| out.write_all(text.as_bytes()))?;
            parse_baseline(path, &text, self.kind)?.apply(report);
            let note = format!("the baseline was written to {}", path.display());
            report.notes.push(note);
        }
        Ok(())
    }
}

fn read_baseline(path: &Path, kind: Kind) -> Result<Baseline, CliError> {
    let file = open_file(path)?;
    let text = read_text_limited(file, &path.display(), MAX_BASELINE_BYTES as u64)?;
    parse_baseline(path, &text, kind)
}

fn parse_baseline(path: &Path, text: &str, kind: Kind) -> Result<Baseline, CliError> {
    let parsed = match is_official(path) {
        true => Baseline::parse_expected_failures(text, kind),
        false => {
            let of_servers = Checker::checks().into_iter().map(|check| check.id);
            let of_clients = ClientChecker::checks().into_iter().map(|check| check.id);
            let ids: Vec<_> = of_servers.chain(of_clients).collect();
            Baseline::parse(text, &ids)
        }
    };
    parsed.map_err(|error| name_error(path, &error))
}

fn read_lock(path: &Path) -> Result<Lock, CliError> {
    let file = open_file(path)?;
    let text = read_text_limited(file, &path.display(), MAX_LOCK_BYTES as u64)?;
    Lock::parse(&text).map_err(|error| name_error(path, &error))
}

/// Returns whether a file is the expected-failures file of the official suite.
fn is_official(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("yml" | "yaml"))
}

fn name_error(path: &Path, error: &FileError) -> CliError {
    CliError::usage(format!("{}: {error}", path.display()))
}

fn write(
    path: &Path,
    content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<(), CliError> {
    let written = File::create(path).and_then(|mut file| content(&mut file));
    written.map_err(|error| CliError::new(format!("cannot write {}: {error}", path.display())))
}
