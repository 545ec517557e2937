//! A backup server: copies a directory into another. It shows how a long call reports its progress,
//! sends log messages and reacts to cancellation.
//!
//! Run it with `cargo run -p turnbuckle-examples --bin backup -- SOURCE TARGET`.
//!
//! ```text
//! backup ~/photos /mnt/disk/photos             serves the client that started it, on stdio
//! backup ~/photos /mnt/disk/photos --limit 8   copies at most 8 MiB per second
//! backup ~/photos /mnt/disk/photos --http 127.0.0.1:8080
//! ```
//!
//! A file is copied completely or not at all: see [`copy`]. After a cancelled backup, the next call
//! of `run` copies the remaining files.

mod copy;
mod plan;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use tokio::sync::Mutex;
use turnbuckle::RunArgs;
use turnbuckle::prelude::*;

use copy::{Copier, CopyStep};
use plan::Plan;

/// Copies a directory into another when a client calls `run`.
#[derive(Parser)]
struct Options {
    /// The directory to copy.
    source: PathBuf,
    /// The directory to copy to, created if it does not exist.
    target: PathBuf,
    /// The maximum speed in MiB per second.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    #[command(flatten)]
    run: RunArgs,
}

#[tokio::main]
async fn main() -> turnbuckle::Result {
    let options = Options::parse();
    let server = Server::new("backup", env!("CARGO_PKG_VERSION"))
        .logging()
        .group(Backup::new(&options)?)
        // The default timeout of a call is one hour, which is too short for a large backup.
        .timeout(Duration::from_secs(12 * 3600));
    server.run_with(options.run).await
}

struct Backup {
    source: PathBuf,
    target: PathBuf,
    copy: Copier,
    /// Held while a call reads or changes the target, so that calls run one at a time.
    run_lock: Mutex<()>,
}

/// The work that a backup would do now.
#[data]
struct Preview {
    /// The number of files that are up to date.
    present: usize,
    /// The number of files to copy.
    missing: usize,
    /// The number of bytes to copy.
    bytes: u64,
}

/// The result of a backup.
#[data]
struct Report {
    /// The number of files that were copied.
    copied: usize,
    /// The number of files that were up to date.
    present: usize,
    /// The number of entries that are neither files nor directories, such as links. They are not
    /// copied.
    skipped: usize,
    /// Files that could not be copied, with the reason; at most 100.
    failed: Vec<String>,
}

/// The maximum number of failures in a report.
const MAX_REPORTED_FAILURES: usize = 100;

#[server]
impl Backup {
    /// Show what a backup would copy, without copying it.
    #[tool(read_only, open_world = false)]
    async fn preview(&self) -> Result<Preview> {
        let _guard = self.run_lock.lock().await;
        let plan = self.plan().await?;
        Ok(Preview {
            present: plan.present,
            missing: plan.missing.len(),
            bytes: plan.bytes(),
        })
    }

    /// Copy new and changed files. The call reports progress and can be cancelled; the next run
    /// copies the remaining files.
    #[tool(destructive, idempotent, open_world = false)]
    async fn run(&self, progress: Progress, log: Log, cancel: Cancellation) -> Result<Report> {
        let _guard = self.run_lock.lock().await;
        let plan = self.plan().await?;
        let (files, total) = (plan.missing.len(), plan.bytes());
        log.info(format!("{files} files to copy, {total} bytes"))
            .await;
        let mut report = Report {
            copied: 0,
            present: plan.present,
            skipped: plan.skipped,
            failed: Vec::new(),
        };
        let mut done = 0;
        for file in &plan.missing {
            let (from, to) = (self.source.join(&file.path), self.target.join(&file.path));
            let name = file.path.display().to_string();
            let mut file_copy = self.copy.begin(&from, &to, &cancel);
            let copied = loop {
                progress.report_with_message(done, total, &name).await;
                match file_copy.step().await {
                    Ok(CopyStep::Bytes(bytes)) => done += bytes,
                    Ok(CopyStep::Complete) => break Ok(()),
                    Ok(CopyStep::Cancelled) => {
                        log.info(format!("cancelled after {done} bytes")).await;
                        return Err(
                            "the backup was cancelled; call `run` again to copy the rest".into(),
                        );
                    }
                    Err(error) => break Err(error),
                }
            };
            match copied {
                Ok(()) => report.copied += 1,
                Err(error) => {
                    log.warning(format!("{name}: {error}")).await;
                    if report.failed.len() < MAX_REPORTED_FAILURES {
                        report.failed.push(format!("{name}: {error}"));
                    }
                }
            }
        }
        Ok(report)
    }
}

impl Backup {
    fn new(options: &Options) -> Result<Self> {
        let canonical = |path: &Path| {
            let found = path.canonicalize();
            found.map_err(|error| format!("{}: {error}", path.display()))
        };
        std::fs::create_dir_all(&options.target)?;
        let (source, target) = (canonical(&options.source)?, canonical(&options.target)?);
        if source.starts_with(&target) || target.starts_with(&source) {
            return Err("one of the directories is inside the other".into());
        }
        Ok(Self {
            source,
            target,
            copy: Copier::new(options.limit),
            run_lock: Mutex::default(),
        })
    }

    async fn plan(&self) -> Result<Plan> {
        let (source, target) = (self.source.clone(), self.target.clone());
        Ok(tokio::task::spawn_blocking(move || plan::compare(&source, &target)).await??)
    }
}
